// Attention of a sentence encoder on recorded tensors, compared with the recorded result. Argument: the folder
// data/minilm.
#include "flashwright/flashwright.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// The elements of a version 1 .npy file that is known to hold `count` of T. The example has a reader of its own since
// it needs nothing but the installed library.
template <typename T>
std::vector<T> read_npy(const std::string &path, std::size_t count) {
    std::ifstream file(path, std::ios::binary);
    unsigned char start[10] = {};
    file.read(reinterpret_cast<char *>(start), sizeof start);
    file.ignore(start[8] | start[9] << 8);
    std::vector<T> values(count);
    file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    if (!file) {
        std::fprintf(stderr, "error: cannot read %s\n", path.c_str());
        std::exit(1);
    }
    return values;
}

int main(int argc, char **argv) {
    const std::string folder = argc > 1 ? argv[1] : "examples/data/minilm";
    constexpr std::size_t kCount = std::size_t{2} * 12 * 177 * 32;
    const auto shape = {std::int64_t{2}, std::int64_t{12}, std::int64_t{177}, std::int64_t{32}};
    const auto q = read_npy<float>(folder + "/q.npy", kCount);
    const auto k = read_npy<float>(folder + "/k.npy", kCount);
    const auto v = read_npy<float>(folder + "/v.npy", kCount);
    const auto key_lengths = read_npy<std::int32_t>(folder + "/key_lengths.npy", 2);
    const auto expected = read_npy<float>(folder + "/out.npy", kCount);
    std::vector<float> out(kCount);

    flashwright::ScoreOptions options;
    options.key_lengths = flashwright::ConstTensorView(key_lengths.data(), {2});
    const flashwright::Status status =
        flashwright::forward({q.data(), shape}, {k.data(), shape}, {v.data(), shape}, {out.data(), shape}, {}, options);
    if (!status.ok()) {
        std::fprintf(stderr, "error: %s\n", status.message());
        return 1;
    }
    float error = 0, largest = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
        const float difference = std::abs(out[i] - expected[i]);
        if (!(difference <= error)) error = difference;  // NaN is an error too
        largest = std::max(largest, std::abs(expected[i]));
    }
    std::printf("largest error: %.2e of the largest value\n", error / largest);
    return error <= 1e-5f * largest ? 0 : 1;
}
