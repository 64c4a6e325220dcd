// The tile of scores that tensor cores compute, on a device that has some.
#include "flashwright/flashwright_gpu.h"
#include "runtime/gpu/device.h"
#include "runtime/gpu/device_tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

extern "C" int flashwright_tensor_core_tile(const void *user_context, halide_buffer_t *q, halide_buffer_t *k,
                                            halide_buffer_t *scores);

namespace flashwright::test {
namespace {

constexpr int kTiles = 3, kRows = 16 * kTiles, kKeys = 64, kHeadDim = 64;

// Of a number that f16 holds.
std::uint16_t half_bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffU) == 0) return 0;
    const std::uint32_t exponent = (bits >> 23 & 0xffU) - 127 + 15;
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | exponent << 10 | (bits >> 13 & 0x3ffU));
}

float value(int row, int channel, int seed) {
    return static_cast<float>((37 * row + 11 * channel + seed) % 33 - 16) / 8;
}

void fill(const DeviceTensor &tensor, int rows, int seed) {
    auto *halves = tensor.data<std::uint16_t>();
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < kHeadDim; ++c) halves[r * kHeadDim + c] = half_bits(value(r, c, seed));
    }
}

}  // namespace

TEST(TensorCores, ScoresOfTiles) {
    if (const flashwright_status status = flashwright_gpu_available("cuda"); status.code != FLASHWRIGHT_OK) {
        GTEST_SKIP() << "no CUDA here: " << status.message;
    }
    DeviceCall call("cuda");
    DeviceTensor q(call.context()), k(call.context()), scores(call.context());
    const halide_type_t u32 = halide_type_of<std::uint32_t>();
    ASSERT_EQ(q.allocate("q", u32, {kHeadDim / 2, kRows}).code, FLASHWRIGHT_OK);
    ASSERT_EQ(k.allocate("k", u32, {kHeadDim / 2, kKeys}).code, FLASHWRIGHT_OK);
    ASSERT_EQ(scores.allocate("scores", halide_type_of<float>(), {kKeys, kRows}).code, FLASHWRIGHT_OK);
    fill(q, kRows, 5);
    fill(k, kKeys, 21);
    halide_dimension_t parts[] = {{0, 2, 1, 0},     {0, 4, 2, 0},         {0, 8, 8, 0},
                                  {0, 8, kKeys, 0}, {0, 2, 8 * kKeys, 0}, {0, kTiles, 16 * kKeys, 0}};
    halide_buffer_t *output = scores.output();
    output->dimensions = 6;
    output->dim = parts;
    ASSERT_EQ(flashwright_tensor_core_tile(call.context(), q.input(), k.input(), output), 0);
    ASSERT_EQ(scores.fetch(), 0);
    for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kKeys; ++j) {
            float expected = 0;
            for (int c = 0; c < kHeadDim; ++c) expected += value(i, c, 5) * value(j, c, 21);
            EXPECT_EQ(scores.data<float>()[i * kKeys + j], expected) << i << ", " << j;
        }
    }
}

}  // namespace flashwright::test
