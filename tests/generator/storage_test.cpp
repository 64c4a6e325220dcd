// Conversion between the storage and the accumulation type: nothing where they are equal, else exact one way and to the
// nearest the other way.
#include "algorithm/storage.h"

#include <Halide.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace flashwright::test {

namespace {

using Halide::Expr;
using Halide::Float;
using Halide::Func;
using Halide::Type;
using Halide::Var;

NumberTypes types_of(const Type &storage, const Type &accumulation) {
    return {storage, accumulation, Halide::get_host_target()};
}

// The bits of float16 of every number.
std::vector<std::uint16_t> stored_as_f16(std::vector<float> numbers) {
    Halide::Buffer<float> in(numbers.data(), static_cast<int>(numbers.size()));
    Var x("x");
    Func f("f");
    f(x) = to_storage(in(x), types_of(Float(16), Float(32)));
    const Halide::Buffer<std::uint16_t> out = f.realize({in.width()});
    return {out.begin(), out.end()};
}

constexpr int kPatterns = 1 << 16;

}  // namespace

TEST(Storage, EqualTypesConvertNothing) {
    for (const int bits : {32, 64}) {
        const NumberTypes types = types_of(Float(bits), Float(bits));
        const Expr number = Var("x") * Halide::cast(Float(bits), 2);
        EXPECT_TRUE(from_storage(number, types).same_as(number));
        EXPECT_TRUE(to_storage(number, types).same_as(number));
        EXPECT_EQ(buffer_type(types.storage), Float(bits));
    }
}

TEST(Storage, F32BesideF64) {
    const NumberTypes types = types_of(Float(32), Float(64));
    EXPECT_EQ(from_storage(Expr(1.5f), types).type(), Float(64));
    EXPECT_EQ(to_storage(Expr(1.5), types).type(), Float(32));
}

TEST(Storage, EveryF16IsReadExactlyAndWrittenBack) {
    EXPECT_EQ(buffer_type(Float(16)), Halide::UInt(16));
    const NumberTypes types = types_of(Float(16), Float(32));
    Var x("x");
    Func numbers("numbers"), bits("bits");
    numbers(x) = from_storage(Halide::cast<std::uint16_t>(x), types);
    bits(x) = to_storage(numbers(x), types);
    const Halide::Buffer<float> read = numbers.realize({kPatterns});
    const Halide::Buffer<std::uint16_t> written = bits.realize({kPatterns});
    for (int n = 0; n < kPatterns; n++) {
        const int exponent = n >> 10 & 31, fraction = n & 1023;
        const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31 && fraction != 0) {
            ASSERT_TRUE(std::isnan(read(n))) << n;
            ASSERT_GT(written(n) & 0x7fff, 0x7c00) << n;
            continue;
        }
        const double expected = exponent == 31 ? std::numeric_limits<double>::infinity() : magnitude;
        ASSERT_EQ(read(n), n < 0x8000 ? expected : -expected) << n;
        ASSERT_EQ(written(n), n) << n;
    }
}

TEST(Storage, F16RoundsToTheNearestTiesToEven) {
    const float ulp = std::ldexp(1.0f, -10);
    EXPECT_EQ(stored_as_f16({1 + 0.49f * ulp, 1 + 0.5f * ulp, 1 + 0.51f * ulp, 1 + 1.5f * ulp, 65519.0f, 65520.0f}),
              (std::vector<std::uint16_t>{0x3c00, 0x3c00, 0x3c01, 0x3c02, 0x7bff, 0x7c00}));
}

}  // namespace flashwright::test
