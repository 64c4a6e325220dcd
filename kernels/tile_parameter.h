// A tile parameter of a schedule, as a member of its struct of tiles.
#pragma once

#include <string>

namespace flashwright {

template <typename Tiles>
struct TileParameterOf {
    const char *name;
    char initial;  // in the ids of variants
    int Tiles::*member;
    bool run_time;  // given to the kernel at run time: variants that differ in nothing else share one object
    const char *meaning;
};

// The sentence of a broken rule: the parameter, what was expected, what came.
inline std::string broken_rule(const std::string &parameter, const std::string &expected, long long value) {
    return parameter + ": expected " + expected + ", got " + std::to_string(value);
}

}  // namespace flashwright
