#include "half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

constexpr int kMantissaBits = 10, kLeastExponent = -14;
constexpr std::uint16_t kSign = 0x8000, kInfinity = 0x7c00, kNaN = 0x7e00;
constexpr double kFirstInfinite = 65520;  // half a step above the largest

}  // namespace

float half_value(std::uint16_t bits) {
    const int exponent = (bits & kInfinity) >> kMantissaBits, fraction = bits & ((1 << kMantissaBits) - 1);
    float magnitude = 0;
    if ((bits & kInfinity) == kInfinity) {
        magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else {
        const int steps = exponent == 0 ? fraction : fraction + (1 << kMantissaBits);
        magnitude = std::ldexp(static_cast<float>(steps), std::max(exponent, 1) - 1 + kLeastExponent - kMantissaBits);
    }
    return (bits & kSign) != 0 ? -magnitude : magnitude;
}

std::uint16_t nearest_half(double value) {
    const unsigned sign = std::signbit(value) ? kSign : 0;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return kNaN;
    if (magnitude >= kFirstInfinite) return static_cast<std::uint16_t>(sign | kInfinity);
    const int exponent = magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
    // The leading one, or a carry, adds to the exponent.
    const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent)));
    return static_cast<std::uint16_t>(sign |
                                      ((static_cast<unsigned>(exponent - kLeastExponent) << kMantissaBits) + steps));
}

}  // namespace flashwright
