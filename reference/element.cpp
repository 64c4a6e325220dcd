#include "element.h"

#include "kernels/dtype_dispatch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace flashwright {
namespace {

constexpr std::uint16_t kSign = 0x8000;

// The format of a number: bits of its fraction, and the largest exponent, which is also the bias.
struct Format {
    int fraction_bits, bias;
    int least_exponent() const { return 1 - bias; }
};

Format format_of(int bits, int fraction_bits) { return {fraction_bits, (1 << (bits - 2 - fraction_bits)) - 1}; }
Format format_of(const Dtype &dtype) { return format_of(8 * dtype.bytes, dtype.fraction_bits); }

// The exponent of the steps in which numbers near `magnitude` are counted.
int exponent_of(double magnitude, const Format &format) {
    return magnitude == 0 ? format.least_exponent() : std::max(std::ilogb(magnitude), format.least_exponent());
}

template <typename T>
double loaded(const void *element) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return static_cast<double>(value);
}

template <typename T>
void stored(T value, void *element) {
    std::memcpy(element, &value, sizeof value);
}

}  // namespace

double value_of_bits(std::uint16_t bits, int fraction_bits) {
    const Format format = format_of(16, fraction_bits);
    const int exponent = (bits & ~kSign) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    double magnitude;
    if (exponent == 2 * format.bias + 1) {
        magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else {
        const int whole = exponent != 0 ? fraction + (1 << fraction_bits) : fraction;
        magnitude = std::ldexp(whole, std::max(exponent - format.bias, format.least_exponent()) - fraction_bits);
    }
    return (bits & kSign) != 0 ? -magnitude : magnitude;
}

std::uint16_t nearest_bits(double value, int fraction_bits) {
    const Format format = format_of(16, fraction_bits);
    const int sign = std::signbit(value) ? kSign : 0;
    const int infinity = (2 * format.bias + 1) << fraction_bits;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (fraction_bits - 1));
    // Half a step above the largest.
    if (magnitude >= std::ldexp(2 - std::ldexp(0.5, -fraction_bits), format.bias))
        return static_cast<std::uint16_t>(sign | infinity);
    const int exponent = exponent_of(magnitude, format);
    // With its leading one, which adds to the exponent, as does a carry.
    const int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
    return static_cast<std::uint16_t>(sign | (((exponent - format.least_exponent()) << fraction_bits) + steps));
}

double load_element(const void *element, flashwright_dtype dtype) {
    if (dtype == FLASHWRIGHT_I32) return loaded<std::int32_t>(element);
    const Dtype *row = find_dtype(dtype);
    if (row == nullptr) return loaded<std::uint8_t>(element) != 0 ? 1 : 0;
    if (row->bytes == sizeof(double)) return loaded<double>(element);
    if (row->bytes == sizeof(float)) return loaded<float>(element);
    std::uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return value_of_bits(bits, row->fraction_bits);
}

void store_element(double value, flashwright_dtype dtype, void *element) {
    if (dtype == FLASHWRIGHT_I32) return stored(static_cast<std::int32_t>(value), element);
    const Dtype *row = find_dtype(dtype);
    if (row == nullptr) return stored(static_cast<std::uint8_t>(value), element);
    if (row->bytes == sizeof(double)) return stored(value, element);
    if (row->bytes == sizeof(float)) return stored(static_cast<float>(value), element);
    stored(nearest_bits(value, row->fraction_bits), element);
}

double rounded_to(flashwright_dtype dtype, double value) {
    double element = 0;
    store_element(value, dtype, &element);
    return load_element(&element, dtype);
}

double largest_number(flashwright_dtype dtype) {
    const Format format = format_of(*find_dtype(dtype));
    return std::ldexp(2 - std::ldexp(1, -format.fraction_bits), format.bias);
}

double rounding_radius(flashwright_dtype dtype, double element) {
    if (!rounds(dtype) || !std::isfinite(element)) return 0;
    const Format format = format_of(*find_dtype(dtype));
    return std::ldexp(0.5, exponent_of(std::fabs(element), format) - format.fraction_bits);
}

}  // namespace flashwright
