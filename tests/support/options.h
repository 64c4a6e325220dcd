// Options of calls for tables of tests.
#pragma once

#include "problem.h"

#include <vector>

namespace flashwright::test {

template <typename Change>
Options options_with(Change change) {
    Options options;
    change(options);
    return options;
}

// Every option at once.
Options everything();

// The options one by one and together.
std::vector<Options> option_table();

}  // namespace flashwright::test
