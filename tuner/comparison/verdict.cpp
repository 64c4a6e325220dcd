#include "verdict.h"

#include <stdexcept>

namespace flashwright {

const char *verdict_name(Verdict verdict) {
    static constexpr const char *kNames[] = {"ok",      "slow",  "compile",       "crash",
                                             "timeout", "wrong", "out of memory", "interrupted"};
    return kNames[static_cast<int>(verdict)];
}

Verdict verdict_named(const std::string &name) {
    for (int i = 0; i <= static_cast<int>(Verdict::interrupted); ++i) {
        if (name == verdict_name(static_cast<Verdict>(i))) return static_cast<Verdict>(i);
    }
    throw std::invalid_argument("verdict: unknown name " + name);
}

Verdict verdict_of(ChildEnd end) {
    switch (end) {
        case ChildEnd::finished:
            return Verdict::ok;
        case ChildEnd::failed:
        case ChildEnd::crashed:
            return Verdict::crash;
        case ChildEnd::out_of_memory:
            return Verdict::out_of_memory;
        case ChildEnd::timed_out:
            return Verdict::timeout;
        case ChildEnd::interrupted:
            return Verdict::interrupted;
    }
    return Verdict::crash;
}

}  // namespace flashwright
