#include "scalar_math.h"

#include <limits>
#include <vector>

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

namespace {

// Minimax polynomials of e^r on |r| <= ln(2)/2 (Remez, relative error: 9.2e-8 in f32, 1.5e-14 in f64), highest power first.
// The last coefficient is held at 1, so that e^0 is exactly 1 and a state that nothing is added to stays as it is.
const std::vector<double> kExp32{0.008290307384954918, 0.04189797535148407, 0.1666763656300413,
                                 0.4999914919325857,   0.9999997070192747,  1.0};
const std::vector<double> kExp64{2.747676422899079e-06, 2.488201749131905e-05, 0.0001984160326912446, 0.001388880814955213,
                                 0.008333333007541179,  0.04166666698541775,   0.1666666666774678,    0.4999999999960995,
                                 0.9999999999999131,    1.0};

Expr horner(const std::vector<double> &coefficients, const Expr &x) {
    Expr p = make_const(x.type(), coefficients[0]);
    for (size_t n = 1; n < coefficients.size(); n++) {
        p = p * x + make_const(x.type(), coefficients[n]);
    }
    return p;
}

// 2^n for an integer n within the exponent range of `type`.
Expr power_of_two(const Expr &n, Type type) {
    if (type.bits() == 32) {
        return reinterpret<float>((n + 127) << 23);
    }
    return reinterpret<double>(cast<int64_t>(n + 1023) << make_const(Int(64), 52));
}

}  // namespace

Expr negative_infinity(Type type) {
    return make_const(type, -std::numeric_limits<double>::infinity());
}

Expr is_negative_infinity(const Expr &x) {
    return strict_float(x == negative_infinity(x.type()));
}

Expr exp_nonpositive(const Expr &x) {
    const Type type = x.type();
    const bool single = type.bits() == 32;
    // The nearest integer, as conversion truncates and x <= 0. (`round` would be split into halves on AVX-512.)
    Expr n = cast<int32_t>(x * make_const(type, 1.4426950408889634) - make_const(type, 0.5));
    Expr whole = cast(type, n);
    // ln(2) in two parts for f64 (the first with 32 zero bits, so that n times it is exact); f32 needs one, as x <= 0 and
    // a weight e^x with an error of 2^-24 |x| is itself small.
    Expr r = single ? x - whole * make_const(type, 0.6931471805599453)
                    : x - whole * make_const(type, 0.693147180369123816490) - whole * make_const(type, 1.90821492927058770002e-10);
    Expr y = horner(single ? kExp32 : kExp64, r) * power_of_two(n, type);
    return select(strict_float(x < make_const(type, single ? -87.33 : -708.39)), make_const(type, 0), y);
}

Expr tanh_accurate(const Expr &x) {
    const Type type = x.type();
    // Near zero 1 - e^(-2|x|) cancels; there the Taylor series is used up to where its rest is below the precision.
    const bool single = type.bits() == 32;
    const std::vector<double> series =
        single ? std::vector<double>{-929569.0 / 638512875.0, 21844.0 / 6081075.0, -1382.0 / 155925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0}
               : std::vector<double>{-443861162.0 / 1856156927625.0, 6404582.0 / 10854718875.0, -929569.0 / 638512875.0, 21844.0 / 6081075.0, -1382.0 / 155925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0};
    Expr size = abs(x);
    Expr small = x * horner(series, x * x);
    Expr e = exp_nonpositive(make_const(type, -2) * size);
    Expr large = (make_const(type, 1) - e) / (make_const(type, 1) + e);
    Expr limit = make_const(type, single ? 0.35 : 0.2);
    return select(strict_float(size < limit), small, select(strict_float(x < make_const(type, 0)), -large, large));
}

}  // namespace flashwright
