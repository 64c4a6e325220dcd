// Problems that a candidate must solve before it is timed, with the exact answers.
#pragma once

#include "flashwright/flashwright.h"
#include "shape_spec.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exact_attention.h"

namespace flashwright {

class Candidate;

struct CheckOptions {
    std::int64_t window_left = -1, window_right = -1;
    bool bottom_right = false;
};

class CheckProblem {
 public:
    CheckProblem(const ShapeSpec &shape, flashwright_dtype dtype,
                 const CheckOptions &options);  // computes the exact answer

    // Runs the candidate over poisoned outputs. The largest error of the output or the lse, in units of what is
    // tolerated; infinite if something beside the outputs was written. Throws what the library refuses.
    double error_of(const Candidate &candidate);
    const std::string &name() const { return name_; }

 private:
    std::string name_;
    std::vector<std::byte> inputs_, outputs_;
    flashwright_forward_args args_;
    ExactAttention exact_;
};

// Awkward shapes, wide and long enough for every tile of the space, and the given ones, cut to a head and 1024 rows.
std::vector<CheckProblem> check_problems(flashwright_dtype dtype, const std::vector<ShapeSpec> &timed);

}  // namespace flashwright
