// One backward call in the words of the tests: a forward problem, the gradient of its output, and where the gradients
// go.
#pragma once

#include "check.h"
#include "kernels.h"

#include <string>

namespace flashwright::test {

// How the tensors that only backward has lie in memory.
struct GradientLayout {
    Form dout = Form::contiguous, dq = Form::contiguous, dk = Form::contiguous, dv = Form::contiguous;
};

struct GradientProblem {
    GradientProblem(flashwright_dtype dtype, const Shape &shape, const Options &options = {}, const Layout &layout = {},
                    const GradientLayout &gradients = {});

    Problem forward;
    Tensor dout, dq, dk, dv, dbias;  // the last if there is a bias

    flashwright_backward_args args() const;  // points into this
    void poison_outputs();
    bool outputs_untouched() const;
    std::string output_bytes() const;
    std::string describe() const { return "gradient of " + forward.describe(); }
};

// All written, nothing beside them written, and within gradient_tolerance of the reference.
::testing::AssertionResult gradients_match(const GradientProblem &problem, const ReferenceGradient &expected);

// Fills out and lse by flashwright_forward, poisons the gradients and calls flashwright_backward.
flashwright_status run(GradientProblem &problem, const flashwright_execution &execution = {});
flashwright_status run_backward_alone(GradientProblem &problem, const flashwright_execution &execution = {});

// A test over one backward kernel.
class GradientTest : public ::testing::TestWithParam<KernelCase> {
 protected:
    void SetUp() override;

    // How to run the problem: by this kernel if it holds the terms, else by its ISA's choice.
    flashwright_execution execution_for(const GradientProblem &problem) const;
    void check(GradientProblem &problem, int threads = 1) const;
};

}  // namespace flashwright::test
