// The options that running attention forward and backward have in common.
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
// Returns --kernel, which other options may exclude.
CLI::Option *add_execution_options(CLI::App &command, AttentionOptions &options);

// The optional tensors of a call, read if they were given.
struct ScoreFiles {
    std::optional<TensorFile> key_lengths, bias, mask, alibi;
};

// Refers to both arguments.
flashwright_score_options score_options(const AttentionOptions &options, ScoreFiles &files);
flashwright_execution execution_options(const AttentionOptions &options);

// Fails for tensors that are not what --dtype says.
void check_options(const AttentionOptions &options, flashwright_dtype dtype);

}  // namespace flashwright
