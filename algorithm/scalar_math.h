// Elementary functions as polynomials, one per precision, so that they vectorise and keep NaN.
#pragma once

#include <Halide.h>

namespace flashwright {

Halide::Expr negative_infinity(Halide::Type type);

// x == -infinity that fast-math does not fold away.
Halide::Expr is_negative_infinity(const Halide::Expr &x);

// e^x for x <= 0. Relative error below 2e-7 (f32), 3e-14 (f64) plus |x| times the precision; exactly 1 at 0; 0 where
// e^x is below the smallest normal number, also at -infinity; NaN at NaN.
Halide::Expr exp_nonpositive(const Halide::Expr &x);

// min(x, 0) that keeps NaN.
Halide::Expr at_most_zero(const Halide::Expr &x);

// Relative error below 5e-7 (f32), 1e-13 (f64).
Halide::Expr tanh_accurate(const Halide::Expr &x);

}  // namespace flashwright
