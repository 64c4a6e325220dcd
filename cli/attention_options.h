// The options that `run forward` and `run backward` share.
#pragma once

#include "flashwright/flashwright.h"
#include "tensor_files.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <utility>

namespace flashwright {

struct AttentionOptions {
    std::string key_lengths, bias, mask, alibi;
    std::optional<double> scale;
    bool causal = false, verify = false;
    std::string align;
    std::optional<std::int64_t> diagonal;
    std::pair<std::int64_t, std::int64_t> window = {-1, -1};
    double softcap = 0;
    std::int64_t key_block = 0;
    std::int32_t threads = 0;
    std::string isa, backend = "cpu", kernel, dtype;
};

void add_score_options(CLI::App &command, AttentionOptions &options);
// Returns the option --kernel, so that other options can exclude it.
CLI::Option *add_execution_options(CLI::App &command, AttentionOptions &options);

// The optional tensors of a call, if given.
struct ScoreFiles {
    std::optional<TensorFile> key_lengths, bias, mask, alibi;
};

// The result refers to both arguments.
flashwright_score_options score_options(const AttentionOptions &options, ScoreFiles &files);
flashwright_execution execution_options(const AttentionOptions &options);

// Throws std::runtime_error if --dtype is given and is not `dtype`.
void check_options(const AttentionOptions &options, flashwright_dtype dtype);

}  // namespace flashwright
