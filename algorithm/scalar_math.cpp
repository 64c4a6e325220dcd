#include "scalar_math.h"

#include <cmath>
#include <limits>
#include <vector>

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

namespace {

// Minimax polynomials of e^r on |r| <= ln(2)/2 (Remez, relative error: 9.2e-8 in f32, 1.5e-14 in f64), highest power
// first. The last coefficient is held at 1, so that e^0 is exactly 1 and a state that nothing is added to stays as it
// is.
const std::vector<double> kExp32{0.008290307384954918, 0.04189797535148407, 0.1666763656300413,
                                 0.4999914919325857,   0.9999997070192747,  1.0};
const std::vector<double> kExp64{
    2.747676422899079e-06, 2.488201749131905e-05, 0.0001984160326912446, 0.001388880814955213, 0.008333333007541179,
    0.04166666698541775,   0.1666666666774678,    0.4999999999960995,    0.9999999999999131,   1.0};

// A polynomial with an even number of coefficients, highest power first: by pairs, then Horner's scheme in x^2. That
// halves the chain of dependent operations for one multiplication more.
Expr polynomial(const std::vector<double> &coefficients, const Expr &x) {
    const Expr square = x * x;
    Expr sum;
    for (size_t n = 0; n < coefficients.size(); n += 2) {
        Expr pair = make_const(x.type(), coefficients[n]) * x + make_const(x.type(), coefficients[n + 1]);
        sum = sum.defined() ? sum * square + pair : pair;
    }
    return sum;
}

// One operation that fast-math leaves alone; its operands stay fast, unlike under strict_float.
Expr strictly(Internal::Call::IntrinsicOp operation, Type type, const Expr &a, const Expr &b) {
    return Internal::Call::make(type, operation, {a, b}, Internal::Call::PureIntrinsic);
}

}  // namespace

Expr negative_infinity(Type type) { return make_const(type, -std::numeric_limits<double>::infinity()); }

Expr is_negative_infinity(const Expr &x) { return strict_float(x == negative_infinity(x.type())); }

Expr exp_nonpositive(const Expr &x) {
    const Type type = x.type();
    const bool single = type.bits() == 32;
    // Adding 1.5 * 2^fraction rounds to the nearest integer n and leaves n + bias, the exponent field of 2^n, in the
    // low bits.
    const int fraction_bits = single ? 23 : 52, bias = single ? 127 : 1023;
    const Type bits = Int(type.bits());
    const Expr shift = make_const(type, std::ldexp(1.5, fraction_bits) + bias);
    const Expr shifted = strictly(Internal::Call::strict_add, type, x * make_const(type, 1.4426950408889634), shift);
    const Expr n = strictly(Internal::Call::strict_sub, type, shifted, shift);
    // The rounding of n ln(2) is an error of |x| times the precision, and a weight e^x is itself small where |x| is
    // large.
    const Expr p = polynomial(single ? kExp32 : kExp64, x - n * make_const(type, 0.6931471805599453));
    const Expr power = reinterpret(type, reinterpret(bits, shifted) << make_const(bits, fraction_bits));
    const Expr smallest = make_const(type, single ? -87.33 : -708.39);
    return select(strictly(Internal::Call::strict_lt, Bool(), x, smallest), make_const(type, 0), p * power);
}

Expr at_most_zero(const Expr &x) {
    const Expr zero = make_const(x.type(), 0);
    return select(strictly(Internal::Call::strict_lt, Bool(), zero, x), zero, x);
}

Expr tanh_accurate(const Expr &x) {
    const Type type = x.type();
    // Near zero 1 - e^(-2|x|) cancels; there the Taylor series is used up to where its rest is below the precision.
    const bool single = type.bits() == 32;
    const std::vector<double> series =
        single ? std::vector<double>{-929569.0 / 638512875.0, 21844.0 / 6081075.0, -1382.0 / 155925.0, 62.0 / 2835.0,
                                     -17.0 / 315.0,           2.0 / 15.0,          -1.0 / 3.0,         1.0}
               : std::vector<double>{-443861162.0 / 1856156927625.0,
                                     6404582.0 / 10854718875.0,
                                     -929569.0 / 638512875.0,
                                     21844.0 / 6081075.0,
                                     -1382.0 / 155925.0,
                                     62.0 / 2835.0,
                                     -17.0 / 315.0,
                                     2.0 / 15.0,
                                     -1.0 / 3.0,
                                     1.0};
    Expr size = abs(x);
    Expr small = x * polynomial(series, x * x);
    Expr e = exp_nonpositive(make_const(type, -2) * size);
    Expr large = (make_const(type, 1) - e) / (make_const(type, 1) + e);
    Expr limit = make_const(type, single ? 0.35 : 0.2);
    return select(strict_float(size < limit), small, select(strict_float(x < make_const(type, 0)), -large, large));
}

}  // namespace flashwright
