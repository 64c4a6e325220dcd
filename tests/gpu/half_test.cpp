// The host's numbers in f16 against those by definition.
#include "runtime/gpu/half.h"
#include "reference/binary16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace flashwright::test {

TEST(Half, EveryNumberAndWhatLiesBetween) {
    for (int bits = 0; bits < 1 << 16; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double value = binary16_value(half);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(half_value(half)));
            EXPECT_TRUE(std::isnan(binary16_value(nearest_half(value))));
            continue;
        }
        ASSERT_EQ(half_value(half), value) << bits;
        ASSERT_EQ(nearest_half(value), half);
        const double step = std::isinf(value) ? 0 : std::fabs(value) * std::ldexp(1, -11) + std::ldexp(1, -26);
        for (const double between : {-1.0, -0.5, -0.25, 0.25, 0.5, 1.0}) {
            const double number = value + between * step;
            ASSERT_EQ(binary16_value(nearest_half(number)), rounded_to_binary16(number)) << number;
        }
    }
    // Ties, and where infinity begins.
    EXPECT_EQ(nearest_half(1 + std::ldexp(1, -11)), 0x3c00);
    EXPECT_EQ(nearest_half(1 + 3 * std::ldexp(1, -11)), 0x3c02);
    EXPECT_EQ(nearest_half(std::ldexp(1, -25)), 0);
    EXPECT_EQ(nearest_half(std::nextafter(std::ldexp(1, -25), 1)), 1);
    EXPECT_EQ(nearest_half(std::nextafter(65520, 0)), 0x7bff);
    EXPECT_EQ(nearest_half(65520), 0x7c00);
    EXPECT_EQ(nearest_half(-std::numeric_limits<double>::infinity()), 0xfc00);
}

}  // namespace flashwright::test
