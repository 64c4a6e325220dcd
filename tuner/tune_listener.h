// Where the tuner says how far it is.
#pragma once

#include <functional>
#include <string>

namespace flashwright {

struct TuneListener {
    std::function<void(const std::string &)> step, detail, warning;
};

}  // namespace flashwright
