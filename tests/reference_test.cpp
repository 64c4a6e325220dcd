// The reference in double, which `--verify` and the tuner use for f64 as well, against the one in long double.
#include "kernels/dtype_dispatch.h"
#include "tests/support/gradient.h"
#include "tests/support/options.h"

namespace flashwright::test {

// A tenth of what kernels are allowed.
TEST(Reference, DoubleIsPreciseEnoughForF64) {
    for (const Options &options : {Options{}, everything(), options_with([](Options &o) {
                                       o.causal = true, o.diagonal = -4, o.alibi = true;
                                   })}) {
        for (const Layout &layout :
             {Layout{}, Layout{Form::transposed, Form::row_gap, Form::shared, Form::contiguous}}) {
            const GradientProblem problem(FLASHWRIGHT_F64, {3, 4, 2, 61, 117, 40, 37}, options, layout);
            SCOPED_TRACE(problem.describe());
            const ReferenceAttention expected = reference_forward(problem.forward),
                                     attention = reference_attention(problem.forward.args());
            const double tolerance = forward_tolerance(FLASHWRIGHT_F64) / 10;
            EXPECT_TRUE(values_match(attention.out, expected.out, tolerance));
            EXPECT_TRUE(lse_matches(attention.softmax_lse, expected.softmax_lse, tolerance));
            const ReferenceGradient gradient = reference_gradient(problem.args()),
                                    expected_gradient = reference_backward(problem.forward, problem.dout.values());
            const auto near = [](double unit) { return gradient_tolerance(FLASHWRIGHT_F64) / 10 * unit; };
            EXPECT_LE(largest_error(gradient.dq, expected_gradient.dq), near(expected_gradient.dq_unit));
            EXPECT_LE(largest_error(gradient.dk, expected_gradient.dk), near(expected_gradient.dk_unit));
            EXPECT_LE(largest_error(gradient.dv, expected_gradient.dv), near(expected_gradient.dv_unit));
            EXPECT_LE(largest_error(gradient.dbias, expected_gradient.dbias), near(expected_gradient.dbias_unit));
        }
    }
}

}  // namespace flashwright::test
