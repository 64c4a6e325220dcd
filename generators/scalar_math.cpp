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

// A polynomial, highest power first, by halves (Estrin's scheme): the chain of dependent operations is short, which is what
// bounds an exponential on a wide core.
Expr polynomial(const std::vector<double> &coefficients, const Expr &x) {
    std::vector<Expr> parts;  // lowest power first
    for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c) {
        parts.push_back(make_const(x.type(), *c));
    }
    for (Expr power = x; parts.size() > 1; power = power * power) {
        std::vector<Expr> pairs;
        for (size_t n = 0; n < parts.size(); n += 2) {
            pairs.push_back(n + 1 < parts.size() ? parts[n] + parts[n + 1] * power : parts[n]);
        }
        parts = pairs;
    }
    return parts[0];
}

// p * 2^n for p near 1 and an integer n in the exponent range: n is added to the exponent. Keeps NaN where n is what a conversion
// makes of NaN, whose low bits are 0.
Expr scale_by_power_of_two(const Expr &p, const Expr &n) {
    const Type type = p.type();
    const Type bits = Int(type.bits());
    return reinterpret(type, reinterpret(bits, p) + (cast(bits, n) << make_const(bits, type.bits() == 32 ? 23 : 52)));
}

// a < b that is false for NaN; a and b themselves stay fast, unlike under strict_float.
Expr strictly_less(const Expr &a, const Expr &b) {
    return Internal::Call::make(Bool(), Internal::Call::strict_lt, {a, b}, Internal::Call::PureIntrinsic);
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
    // The rounding of n ln(2) is an error of |x| times the precision, and a weight e^x is itself small where |x| is large.
    Expr r = x - cast(type, n) * make_const(type, 0.6931471805599453);
    Expr y = scale_by_power_of_two(polynomial(single ? kExp32 : kExp64, r), n);
    return select(strictly_less(x, make_const(type, single ? -87.33 : -708.39)), make_const(type, 0), y);
}

Expr at_most_zero(const Expr &x) {
    const Expr zero = make_const(x.type(), 0);
    return select(strictly_less(zero, x), zero, x);
}

Expr tanh_accurate(const Expr &x) {
    const Type type = x.type();
    // Near zero 1 - e^(-2|x|) cancels; there the Taylor series is used up to where its rest is below the precision.
    const bool single = type.bits() == 32;
    const std::vector<double> series =
        single ? std::vector<double>{-929569.0 / 638512875.0, 21844.0 / 6081075.0, -1382.0 / 155925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0}
               : std::vector<double>{-443861162.0 / 1856156927625.0, 6404582.0 / 10854718875.0, -929569.0 / 638512875.0, 21844.0 / 6081075.0, -1382.0 / 155925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0};
    Expr size = abs(x);
    Expr small = x * polynomial(series, x * x);
    Expr e = exp_nonpositive(make_const(type, -2) * size);
    Expr large = (make_const(type, 1) - e) / (make_const(type, 1) + e);
    Expr limit = make_const(type, single ? 0.35 : 0.2);
    return select(strict_float(size < limit), small, select(strict_float(x < make_const(type, 0)), -large, large));
}

}  // namespace flashwright
