#include "check.h"

#include "reference/attention_error.h"
#include "reference/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashwright::test {

namespace {

// NaN when either is NaN and the other is not.
double error_between(double actual, double expected) {
    if (std::isnan(expected)) return std::isnan(actual) ? 0 : NAN;
    return actual == expected ? 0 : std::fabs(actual - expected);
}

template <typename Allowed>
::testing::AssertionResult all_close(const std::vector<double> &actual, const std::vector<double> &expected,
                                     Allowed allowed) {
    if (actual.size() != expected.size())
        return ::testing::AssertionFailure() << actual.size() << " values for " << expected.size();
    for (std::size_t n = 0; n < actual.size(); n++) {
        if (!(error_between(actual[n], expected[n]) <= allowed(expected[n])))
            return ::testing::AssertionFailure()
                   << fmt::format("value {} of {} is {:.17g} instead of {:.17g} (allowed {:.2g})", n, actual.size(),
                                  actual[n], expected[n], allowed(expected[n]));
    }
    return ::testing::AssertionSuccess();
}

}  // namespace

::testing::AssertionResult values_match(const std::vector<double> &actual, const std::vector<double> &expected,
                                        double tolerance) {
    const double largest = largest_finite(expected);
    return all_close(actual, expected, [=](double) { return tolerance * largest; });
}

::testing::AssertionResult stored_values_match(flashwright_dtype dtype, const std::vector<double> &actual,
                                               const std::vector<double> &expected, double tolerance) {
    if (!rounds(dtype)) return values_match(actual, expected, tolerance);
    if (actual.size() != expected.size())
        return ::testing::AssertionFailure() << actual.size() << " values for " << expected.size();
    const double allowed = tolerance * largest_finite(expected);
    for (std::size_t n = 0; n < actual.size(); n++) {
        const double least = rounded_to(dtype, expected[n] - allowed), most = rounded_to(dtype, expected[n] + allowed);
        const bool right = std::isnan(expected[n]) ? std::isnan(actual[n]) : actual[n] >= least && actual[n] <= most;
        if (!right)
            return ::testing::AssertionFailure()
                   << fmt::format("value {} of {} is {:.17g} instead of {:.17g}, that is {:.17g} to {:.17g} in {}", n,
                                  actual.size(), actual[n], expected[n], least, most, name_of(dtype));
    }
    return ::testing::AssertionSuccess();
}

double largest_error(const std::vector<double> &actual, const std::vector<double> &expected) {
    if (actual.size() != expected.size()) return NAN;
    double largest = 0;
    for (std::size_t n = 0; n < expected.size(); n++) {
        const double error = error_between(actual[n], expected[n]);
        if (!(error <= largest)) largest = error;
        if (std::isnan(largest)) break;
    }
    return largest;
}

::testing::AssertionResult lse_matches(const std::vector<double> &actual, const std::vector<double> &expected,
                                       double tolerance) {
    return all_close(actual, expected, [=](double value) {
        return std::isfinite(value) ? tolerance * std::max(1.0, std::fabs(value)) : 0.0;
    });
}

::testing::AssertionResult outputs_match(const Problem &problem, const ReferenceAttention &expected, double tolerance) {
    if (!problem.out.fully_written()) return ::testing::AssertionFailure() << "some of out was not written";
    if (!problem.out.gaps_intact()) return ::testing::AssertionFailure() << "bytes beside out were written";
    if (auto result = stored_values_match(problem.dtype, problem.out.values(), expected.out, tolerance); !result)
        return ::testing::AssertionFailure() << "out: " << result.message();
    if (!problem.lse.given()) return ::testing::AssertionSuccess();
    if (!problem.lse.fully_written()) return ::testing::AssertionFailure() << "some of softmax_lse was not written";
    if (!problem.lse.gaps_intact()) return ::testing::AssertionFailure() << "bytes beside softmax_lse were written";
    if (auto result = lse_matches(problem.lse.values(), expected.softmax_lse, tolerance); !result)
        return ::testing::AssertionFailure() << "softmax_lse: " << result.message();
    return ::testing::AssertionSuccess();
}

::testing::AssertionResult outputs_match(const Problem &problem, const ReferenceAttention &expected) {
    return outputs_match(problem, expected, forward_tolerance(problem.dtype));
}

::testing::AssertionResult is_ok(const flashwright_status &status) {
    if (status.code == FLASHWRIGHT_OK) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "code " << status.code << ": " << status.message;
}

void expect_message(const flashwright_status &status, flashwright_code code, const std::vector<std::string> &parts) {
    EXPECT_EQ(status.code, code) << status.message;
    const std::string message = status.message;
    for (const std::string &part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' in: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

float *floats(const flashwright_tensor &tensor) { return static_cast<float *>(tensor.data); }

flashwright_status run(Problem &problem, const flashwright_execution &execution) {
    problem.poison_outputs();
    const flashwright_forward_args args = problem.args();
    return flashwright_forward(&args, &execution);
}

void expect_reference(Problem &problem, const flashwright_execution &execution) {
    ASSERT_TRUE(is_ok(run(problem, execution))) << problem.describe();
    EXPECT_TRUE(outputs_match(problem, reference_forward(problem))) << problem.describe();
}

flashwright_execution with_isa(const char *isa) {
    flashwright_execution execution{};
    execution.isa = isa;
    return execution;
}

flashwright_execution with_kernel(const char *kernel) {
    flashwright_execution execution{};
    execution.kernel = kernel;
    return execution;
}

flashwright_execution with_key_block(std::int64_t key_block) {
    flashwright_execution execution{};
    execution.key_block = key_block;
    return execution;
}

flashwright_execution with_threads(int threads) {
    flashwright_execution execution{};
    execution.threads = threads;
    return execution;
}

}  // namespace flashwright::test
