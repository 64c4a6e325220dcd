// A problem as a GPU takes it.
#pragma once

#include "support/gradient.h"

namespace flashwright::test {

// Without the gradient of a bias.
inline GradientProblem gpu_problem(const Shape &shape, const Options &options = {}, const Layout &layout = {},
                                   const GradientLayout &gradients = {}) {
    GradientProblem problem(FLASHWRIGHT_F32, shape, options, layout, gradients);
    problem.dbias = Tensor();
    return problem;
}

}  // namespace flashwright::test
