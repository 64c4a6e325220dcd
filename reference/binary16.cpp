#include "binary16.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

constexpr int kMantissaBits = 10, kBias = 15, kLeastExponent = 1 - kBias;
constexpr std::uint16_t kSign = 0x8000, kInfinity = 0x7c00, kNaN = 0x7e00;
constexpr double kFirstTooLarge = 65520;  // half a step above the largest

}  // namespace

double binary16_value(std::uint16_t bits) {
    const int exponent = (bits & kInfinity) >> kMantissaBits, mantissa = bits & 0x3ff;
    double magnitude;
    if (exponent == 31) {
        magnitude = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else {
        const int whole = exponent != 0 ? mantissa + (1 << kMantissaBits) : mantissa;
        magnitude = std::ldexp(whole, std::max(exponent - kBias, kLeastExponent) - kMantissaBits);
    }
    return (bits & kSign) != 0 ? -magnitude : magnitude;
}

std::uint16_t binary16_bits(double value) {
    const int sign = std::signbit(value) ? kSign : 0;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | kNaN);
    if (magnitude >= kFirstTooLarge) return static_cast<std::uint16_t>(sign | kInfinity);
    const int exponent = magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
    // With its leading one, which adds to the exponent, as does a carry.
    const int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent)));
    return static_cast<std::uint16_t>(sign | (((exponent - kLeastExponent) << kMantissaBits) + steps));
}

}  // namespace flashwright
