// Problems drawn at random. FLASHWRIGHT_TEST_SEED and FLASHWRIGHT_TEST_RANDOM change what is drawn and how much of it.
#pragma once

#include "problem.h"

#include <cstdint>
#include <random>

namespace flashwright::test {

class RandomProblems {
 public:
    RandomProblems();

    // FLASHWRIGHT_TEST_RANDOM if it is set.
    static int count(int otherwise);

    std::int64_t below(std::int64_t n);
    bool chance(int percent);

    Shape shape();
    // With `general`, options other than masks by position are drawn often, otherwise seldom.
    Options options(const Shape &shape, bool general);
    // Mostly contiguous; `shared` for inputs alone.
    Form input_form() { return form(7); }
    Form output_form() { return form(6); }

 private:
    Form form(std::int64_t kinds);
    Coverage coverage();

    std::mt19937_64 random_;
};

}  // namespace flashwright::test
