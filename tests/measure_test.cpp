// The exact attention that the program verifies with, against the one of the tests: written twice, they must agree.
#include "tests/support/check.h"

#include "reference/reference_attention.h"

namespace flashwright::test {

TEST(ExactAttention, TheTwoAgree) {
    Options all;
    all.softmax_scale = -0.3, all.causal = true, all.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT, all.window_left = 9;
    all.window_right = 2, all.softcap = 1.5, all.key_fractions = {0.6, 1, 0},
    all.bias = Coverage{false, true, true, false, 3};
    all.bias_hides = true, all.mask = Coverage{true, false, true, true, 4}, all.alibi = true;
    Options diagonal;
    diagonal.causal = true, diagonal.diagonal = -4, diagonal.alibi = true;
    for (flashwright_dtype dtype : {FLASHWRIGHT_F32, FLASHWRIGHT_F64}) {
        for (const Options &options : {Options{}, all, diagonal}) {
            for (const Layout &layout :
                 {Layout{}, Layout{Form::transposed, Form::row_gap, Form::shared, Form::contiguous}}) {
                const Problem problem(dtype, {3, 4, 2, 11, 17, 5, 7}, options, layout);
                const Exact exact = exact_forward(problem);
                const ExactAttention other = exact_attention(problem.args());
                EXPECT_TRUE(values_match(other.out, exact.out, 1e-13)) << problem.describe();
                EXPECT_TRUE(lse_matches(other.softmax_lse, exact.lse, 1e-13)) << problem.describe();
            }
        }
    }
}

}  // namespace flashwright::test
