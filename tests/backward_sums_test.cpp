// Backward with elements that are narrower than sums: results are rounded once.
#include "runtime/src/backward_chunk_members.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <vector>

namespace flashwright {
namespace test {
namespace {

// The upper half of a float, rounded to nearest: 8 significant bits. No kernel of this build has such elements.
struct Narrow {
    std::uint16_t bits = 0;

    Narrow() = default;
    explicit Narrow(float value) {
        std::uint32_t word;
        std::memcpy(&word, &value, sizeof word);
        bits = static_cast<std::uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
    operator float() const {
        const std::uint32_t word = std::uint32_t{bits} << 16;
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
};

constexpr float kSmall = 0x1p-9F;  // 1 + kSmall rounds to 1, and 1 + 3 * kSmall does not
constexpr std::int64_t kBlocks = 4, kRows = 4 * kBlocks, kKeys = 8 * kBlocks, kChannels = 8;

float first_of(const halide_buffer_t *buffer) { return *reinterpret_cast<const Narrow *>(buffer->host); }

void add(halide_buffer_t *to, float value) {
    for (int i = 0; i < to->dim[1].extent; ++i) {
        float *row = reinterpret_cast<float *>(to->host) + static_cast<std::ptrdiff_t>(i) * to->dim[1].stride;
        for (int c = 0; c < to->dim[0].extent; ++c) row[c] += value;
    }
}

// Adds the first element of K to dQ, and that of Q to dK and dV. dbias gets that of Q in the first row of a block.
template <typename... Arguments>
int add_first_elements(Arguments... arguments) {
    constexpr std::size_t kCount = sizeof...(arguments);
    const std::tuple<Arguments...> all(arguments...);
    const float q = first_of(std::get<1>(all)), k = first_of(std::get<3>(all));
    add(std::get<kCount - 4>(all), k);
    add(std::get<kCount - 3>(all), q);
    add(std::get<kCount - 2>(all), q);
    halide_buffer_t *dbias = std::get<kCount - 1>(all);
    for (int i = 0; i < dbias->dim[1].extent; ++i) {
        float *row = reinterpret_cast<float *>(dbias->host) + static_cast<std::ptrdiff_t>(i) * dbias->dim[1].stride;
        std::fill(row, row + dbias->dim[0].extent, i == 0 ? q : 0.0F);
    }
    return 0;
}

// [1, 1, rows, channels]. The first block of rows holds 1, and the others kSmall.
struct Matrix {
    Matrix(std::int64_t rows, std::int64_t channels) : values(static_cast<std::size_t>(rows * channels)) {
        view.given = true;
        view.dtype = FLASHWRIGHT_F16;  // as wide as Narrow, with sums in f32
        view.element_size = sizeof(Narrow);
        view.data = reinterpret_cast<char *>(values.data());
        const std::int64_t shape[] = {1, 1, rows, channels}, strides[] = {0, 0, channels, 1};
        std::copy_n(shape, 4, view.shape);
        std::copy_n(strides, 4, view.strides);
        const std::size_t block = values.size() / kBlocks;
        for (std::size_t n = 0; n < values.size(); ++n) values[n] = Narrow(n < block ? 1.0F : kSmall);
    }

    std::vector<Narrow> values;
    StridedTensor view;
};

}  // namespace
}  // namespace test

template <>
struct AccumulationOf<test::Narrow> {
    using type = float;
};

namespace test {

TEST(BackwardSums, NarrowResultsAreRoundedOnce) {
    Matrix q(kRows, kChannels), k(kKeys, kChannels), bias(1, kKeys), dq(kRows, kChannels), dk(kKeys, kChannels),
        dv(kKeys, kChannels), dbias(1, kKeys);
    std::vector<float> lse(kRows, 0.0F);
    BackwardProblem problem;
    ForwardProblem &forward = problem.forward;
    forward.dtype = FLASHWRIGHT_F16;
    forward.batch = forward.heads = forward.heads_kv = 1;
    forward.seqlen_q = kRows, forward.seqlen_k = kKeys;
    forward.head_dim = forward.head_dim_v = kChannels;
    forward.q = forward.out = problem.dout = q.view;
    forward.k = forward.v = k.view;
    forward.lse.given = true;
    forward.lse.data = reinterpret_cast<char *>(lse.data());
    forward.lse.dtype = FLASHWRIGHT_F32;
    forward.lse.element_size = sizeof(float);
    forward.lse.shape[kRow] = kRows;
    forward.lse.strides[kRow] = 1;
    forward.terms.matrices[place_of_input(kTermMatrices, "bias")] = bias.view;
    problem.dq = dq.view, problem.dk = dk.view, problem.dv = dv.view, problem.dbias = dbias.view;

    Kernel kernel = {};
    kernel.op = Op::backward;
    kernel.dtype = FLASHWRIGHT_F16;
    kernel.terms = kBias;
    kernel.tiles.block_q = kernel.tiles.tile_q = kRows / kBlocks;
    kernel.tiles.block_k = kernel.tiles.width = kKeys / kBlocks;
    kernel.backward = [](auto... arguments) { return add_first_elements(arguments...); };

    const BackwardSizes sizes(problem, kernel);
    ASSERT_EQ(sizes.chunks, kBlocks);
    ASSERT_EQ(sizes.blocks, kBlocks);
    BackwardState state(problem, sizes);
    ASSERT_EQ(state.reserve({}).code, FLASHWRIGHT_OK);
    std::vector<char> memory(sizes.worker_bytes());
    Scratch scratch(memory.data(), memory.size());
    for (std::int64_t chunk = 0; chunk < sizes.chunks; ++chunk) {
        BackwardChunk<Narrow>(problem, kernel, sizes, state, 0, chunk, scratch).run();
    }
    const float once = Narrow(1 + 3 * kSmall);
    ASSERT_NE(once, 1.0F);
    for (const Matrix *gradient : {&dq, &dk, &dv, &dbias}) {
        for (const Narrow &value : gradient->values) EXPECT_EQ(static_cast<float>(value), once);
    }
}

}  // namespace test
}  // namespace flashwright
