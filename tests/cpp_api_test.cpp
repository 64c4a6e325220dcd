// The C++ layer says the same as the C interface.
#include "flashwright/flashwright.hpp"

#include "tests/support/gradient.h"

#include <cmath>
#include <limits>

namespace flashwright::test {

TEST(CppApi, Forward) {
    const std::vector<float> q = {1, 0, 0, 1}, k = {1, 0, 0, 1, 1, 1}, v = {1, 2, 3, 4, 5, 6};
    std::vector<float> out(4), lse(2);
    const Status status =
        forward({q.data(), {2, 2}}, {k.data(), {3, 2}}, {v.data(), {3, 2}}, {out.data(), {2, 2}}, {lse.data(), {2}});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_STREQ(status.message(), "");
    EXPECT_TRUE(values_match({out.begin(), out.end()}, {3, 4, 3.406672556079, 4.406672556079}, 1e-6));
    EXPECT_TRUE(lse_matches({lse.begin(), lse.end()}, {1.620621139057, 1.620621139057}, 1e-6));
}

TEST(CppApi, EveryOptionReachesTheCall) {
    Options o;
    o.softmax_scale = 0.4, o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT, o.window_left = 9,
    o.window_right = 1;
    o.softcap = 2, o.key_fractions = {0.7, 1}, o.bias = Coverage{}, o.mask = Coverage{}, o.alibi = true;
    Options diagonal;
    diagonal.causal = true, diagonal.diagonal = -2;
    for (const Options &given : {o, diagonal}) {
        Problem p(FLASHWRIGHT_F64, {2, 4, 2, 7, 20, 8, 9}, given);
        ScoreOptions options;
        options.softmax_scale = given.softmax_scale, options.causal = given.causal, options.align = given.align;
        options.diagonal = given.diagonal;
        if (given.window_left >= 0) options.window_left = given.window_left;
        if (given.window_right >= 0) options.window_right = given.window_right;
        if (given.softcap > 0) options.softcap = given.softcap;
        const auto view = [](const Tensor &tensor) {
            return tensor.given() ? std::optional<ConstTensorView>(ConstTensorView(tensor.view())) : std::nullopt;
        };
        options.key_lengths = view(p.key_lengths), options.bias = view(p.bias), options.mask = view(p.mask);
        options.alibi_slopes = view(p.alibi_slopes);
        const char *kernel_used = nullptr;
        Execution execution;
        execution.threads = 2;
        execution.kernel_used = &kernel_used;
        const Status status = forward(*view(p.q), *view(p.k), *view(p.v), TensorView(p.out.view()),
                                      TensorView(p.lse.view()), options, execution);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(outputs_match(p, reference_forward(p))) << p.describe();
        std::int32_t chosen = -1;
        const flashwright_forward_args args = p.args();
        ASSERT_TRUE(is_ok(flashwright_forward_choice(&args, &execution, &chosen, nullptr, 0)));
        EXPECT_STREQ(kernel_used, flashwright_kernel(chosen).name);
    }
}

TEST(CppApi, Backward) {
    Options given;
    given.softmax_scale = 0.4, given.causal = true, given.softcap = 2, given.bias = Coverage{false, true, true};
    GradientProblem p(FLASHWRIGHT_F64, {2, 4, 2, 7, 20, 8, 9}, given);
    ASSERT_TRUE(is_ok(run(p.forward)));
    ScoreOptions options;
    options.softmax_scale = 0.4, options.causal = true, options.softcap = 2;
    options.bias = ConstTensorView(p.forward.bias.view());
    const auto view = [](const Tensor &tensor) { return ConstTensorView(tensor.view()); };
    const auto target = [](const Tensor &tensor) { return TensorView(tensor.view()); };
    for (bool with_dbias : {false, true}) {
        p.poison_outputs();
        Gradients gradients{target(p.dq), target(p.dk), target(p.dv), {}};
        if (with_dbias) gradients.dbias = target(p.dbias);
        const Status status = backward(view(p.forward.q), view(p.forward.k), view(p.forward.v), view(p.forward.out),
                                       view(p.forward.lse), view(p.dout), gradients, options);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(p.dbias.untouched(), !with_dbias);
    }
    EXPECT_TRUE(gradients_match(p, expected_backward(p.forward, p.dout.values())));
}

TEST(CppApi, StridedViewsAndErrors) {
    const std::vector<double> data = {1, 2, 3, 4, 5, 6};
    const ConstTensorView transposed(data.data(), {3, 2}, {1, 3});
    EXPECT_EQ(transposed.tensor().strides[0], 1);
    EXPECT_EQ(transposed.tensor().strides[1], 3);
    EXPECT_EQ(transposed.tensor().dtype, FLASHWRIGHT_F64);
    std::vector<double> out(6, 7);
    for (const ConstTensorView &wrong : {ConstTensorView(data.data(), {3, 2}, {1}),
                                         ConstTensorView(data.data(), {1, 1, 1, 3, 2}), ConstTensorView()}) {
        const Status status = forward(wrong, transposed, transposed, {out.data(), {3, 2}});
        EXPECT_EQ(status.code(), FLASHWRIGHT_INVALID_ARGUMENT);
        EXPECT_NE(std::string(status.message()).find("q:"), std::string::npos) << status.message();
        EXPECT_EQ(out, std::vector<double>(6, 7));
    }
}

TEST(CppApi, MergeAndStep) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> out_a = {2.5}, lse_a = {std::log(6.0)}, out_b = {6.5}, lse_b = {std::log(2.0)};
    std::vector<double> out(1), lse(1);
    ASSERT_TRUE(merge({out_a.data(), {1, 1}}, {lse_a.data(), {1}}, {out_b.data(), {1, 1}}, {lse_b.data(), {1}},
                      {out.data(), {1, 1}}, {lse.data(), {1}})
                    .ok());
    EXPECT_NEAR(out[0], 3.5, 1e-12);
    EXPECT_NEAR(lse[0], std::log(8.0), 1e-12);

    std::vector<double> m = {-infinity}, l = {0}, acc = {0, 0};
    const std::vector<double> scores = {2, 2}, v = {1, 2, 3, 4};
    const SoftmaxState<ConstTensorView> before{{m.data(), {1}}, {l.data(), {1}}, {acc.data(), {1, 2}}};
    const SoftmaxState<TensorView> after{{m.data(), {1}}, {l.data(), {1}}, {acc.data(), {1, 2}}};
    const Status status = online_softmax_step(before, {scores.data(), {1, 2}}, {v.data(), {2, 2}}, after);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(m[0], 2);
    EXPECT_NEAR(l[0], 2, 1e-12);
    EXPECT_TRUE(values_match(acc, {4, 6}, 1e-12));
}

TEST(CppApi, Lists) {
    EXPECT_EQ(kernels().size(), static_cast<std::size_t>(flashwright_kernel_count()));
    EXPECT_EQ(isas().size(), static_cast<std::size_t>(flashwright_isa_count()));
    EXPECT_STREQ(version(), flashwright_version());
}

}  // namespace flashwright::test
