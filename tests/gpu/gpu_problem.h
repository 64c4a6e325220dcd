// A problem as calls on a stream take it.
#pragma once

#include "support/gradient.h"

namespace flashwright::test {

inline GradientProblem problem_without_dbias(const Shape &shape, const Options &options = {}, const Layout &layout = {},
                                             const GradientLayout &gradients = {}) {
    GradientProblem problem(FLASHWRIGHT_F32, shape, options, layout, gradients);
    problem.dbias = Tensor();
    return problem;
}

}  // namespace flashwright::test
