// Comparison with the reference, and running a problem.
#pragma once

#include "kernels/dtype_dispatch.h"
#include "problem.h"
#include "reference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flashwright::test {

// Each value against the largest finite one of `expected`; NaN matches NaN only, an infinity itself only.
::testing::AssertionResult values_match(const std::vector<double> &actual, const std::vector<double> &expected,
                                        double tolerance);
// The same for elements of a dtype: where they are narrower than sums, each is a number within the tolerance that was
// rounded once, to nearest.
::testing::AssertionResult stored_values_match(flashwright_dtype dtype, const std::vector<double> &actual,
                                               const std::vector<double> &expected, double tolerance);
// The largest difference; NaN where one value is NaN and the other is not.
double largest_error(const std::vector<double> &actual, const std::vector<double> &expected);
// Each value against max(1, |expected|).
::testing::AssertionResult lse_matches(const std::vector<double> &actual, const std::vector<double> &expected,
                                       double tolerance);
// The outputs match, are fully written, and nothing beside them was written.
::testing::AssertionResult outputs_match(const Problem &problem, const ReferenceAttention &expected);
::testing::AssertionResult outputs_match(const Problem &problem, const ReferenceAttention &expected, double tolerance);

// The call succeeded; its message otherwise.
::testing::AssertionResult is_ok(const flashwright_status &status);

// The call failed with this code, on one line that holds all of `parts`.
void expect_message(const flashwright_status &status, flashwright_code code, const std::vector<std::string> &parts);

// The elements of an f32 tensor.
float *floats(const flashwright_tensor &tensor);

// Poisons the outputs and calls flashwright_forward.
flashwright_status run(Problem &problem, const flashwright_execution &execution = {});

// The same, and everything must match the reference.
void expect_reference(Problem &problem, const flashwright_execution &execution = {});

flashwright_execution with_isa(const char *isa);
flashwright_execution with_kernel(const char *kernel);
flashwright_execution with_key_block(std::int64_t key_block);
flashwright_execution with_threads(int threads);

}  // namespace flashwright::test
