#include "gradient.h"

#include "reference/element.h"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace flashwright::test {

GradientProblem::GradientProblem(flashwright_dtype dtype, const Shape &s, const Options &options, const Layout &layout,
                                 const GradientLayout &gradients)
    : forward(dtype, s, options, layout) {
    const auto tensor = [&](const std::vector<std::int64_t> &shape, Form form) {
        const std::vector<std::int64_t> strides = strides_of(form, shape);
        return Tensor(dtype, shape, strides, layout.place);
    };
    dout = tensor({s.batch, s.heads, s.seqlen_q, s.head_dim_v}, gradients.dout);
    dq = tensor({s.batch, s.heads, s.seqlen_q, s.head_dim}, gradients.dq);
    dk = tensor({s.batch, s.heads_kv, s.seqlen_k, s.head_dim}, gradients.dk);
    dv = tensor({s.batch, s.heads_kv, s.seqlen_k, s.head_dim_v}, gradients.dv);
    if (forward.bias.given()) dbias = Tensor(dtype, forward.bias.shape(), {}, layout.place);
    fill_g(dout, 4);
}

flashwright_backward_args GradientProblem::args() const {
    const flashwright_forward_args from = forward.args();
    flashwright_backward_args args;
    flashwright_backward_args_init(&args);
    args.q = from.q, args.k = from.k, args.v = from.v, args.out = from.out, args.softmax_lse = from.softmax_lse;
    args.dout = dout.view(), args.dq = dq.view(), args.dk = dk.view(), args.dv = dv.view();
    if (dbias.given()) args.dbias = dbias.view();
    args.score = from.score;
    return args;
}

void GradientProblem::poison_outputs() {
    for (Tensor *tensor : {&dq, &dk, &dv, &dbias})
        if (tensor->given()) tensor->poison();
}

bool GradientProblem::outputs_untouched() const {
    for (const Tensor *tensor : {&dq, &dk, &dv, &dbias})
        if (tensor->given() && !tensor->untouched()) return false;
    return true;
}

std::string GradientProblem::output_bytes() const {
    std::string bytes;
    for (const Tensor *tensor : {&dq, &dk, &dv, &dbias})
        if (tensor->given()) bytes += tensor->bytes();
    return bytes;
}

::testing::AssertionResult gradients_match(const GradientProblem &problem, const ReferenceGradient &reference) {
    const struct {
        const char *name;
        const Tensor &actual;
        const std::vector<double> &expected;
        double unit;
    } gradients[] = {{"dq", problem.dq, reference.dq, reference.dq_unit},
                     {"dk", problem.dk, reference.dk, reference.dk_unit},
                     {"dv", problem.dv, reference.dv, reference.dv_unit},
                     {"dbias", problem.dbias, reference.dbias, reference.dbias_unit}};
    for (const auto &[name, actual, expected, unit] : gradients) {
        if (!actual.given()) continue;
        if (!actual.fully_written()) return ::testing::AssertionFailure() << "some of " << name << " was not written";
        if (!actual.gaps_intact()) return ::testing::AssertionFailure() << "bytes beside " << name << " were written";
        // The unit stands beside the values, so that all are measured by it.
        std::vector<double> values = actual.values(), wanted = expected;
        const flashwright_dtype dtype = problem.forward.dtype;
        values.push_back(rounds(dtype) ? rounded_to(dtype, unit) : unit), wanted.push_back(unit);
        const auto result = stored_values_match(dtype, values, wanted, gradient_tolerance(dtype));
        if (!result) return ::testing::AssertionFailure() << name << ": " << result.message();
    }
    return ::testing::AssertionSuccess();
}

flashwright_status run_backward_alone(GradientProblem &problem, const flashwright_execution &execution) {
    problem.poison_outputs();
    const flashwright_backward_args args = problem.args();
    return flashwright_backward(&args, &execution);
}

flashwright_status run(GradientProblem &problem, const flashwright_execution &execution) {
    const flashwright_status status = run(problem.forward);
    return status.code == FLASHWRIGHT_OK ? run_backward_alone(problem, execution) : status;
}

void GradientTest::SetUp() { std::cout << "[ ISA      ] " << GetParam().isa << std::endl; }

flashwright_execution GradientTest::execution_for(const GradientProblem &problem) const {
    const KernelCase &kernel = GetParam();
    const Problem &p = problem.forward;
    const auto lacks = [&](bool needed, const char *term) { return needed && kernel.terms.count(term) == 0; };
    const bool fits = !lacks(p.options.softcap > 0, "softcap") && !lacks(p.alibi_slopes.given(), "alibi") &&
                      !lacks(p.bias.given(), "bias") && !lacks(p.mask.given(), "mask");
    return fits ? kernel.execution() : with_isa(kernel.isa.c_str());
}

void GradientTest::check(GradientProblem &problem, int threads) const {
    SCOPED_TRACE(GetParam().name + ": " + problem.describe());
    flashwright_execution execution = execution_for(problem);
    execution.threads = threads;
    ASSERT_TRUE(is_ok(run(problem, execution)));
    EXPECT_TRUE(gradients_match(problem, expected_backward(problem.forward, problem.dout.values())));
}

}  // namespace flashwright::test
