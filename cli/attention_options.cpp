#include "attention_options.h"

#include "kernels/dtype_dispatch.h"
#include "validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace flashwright {

void add_score_options(CLI::App &command, AttentionOptions &options) {
    command.add_option("--scale", options.scale, "Factor of the dot products (default 1/sqrt(head_dim))")
        ->type_name("X");
    command.add_flag("--causal", options.causal, "Mask the keys after the diagonal");
    CLI::Option *align = command
                             .add_option("--align", options.align,
                                         "Position of the diagonal. top-left (default): query i meets key i. "
                                         "bottom-right: the last query meets the last key of its batch entry")
                             ->check(CLI::IsMember({"top-left", "bottom-right"}).description(""))
                             ->type_name("top-left|bottom-right");
    command.add_option("--diagonal", options.diagonal, "Position of the diagonal as a number: query i meets key i + N")
        ->check(fits_int64())
        ->excludes(align)
        ->type_name("N");
    command
        .add_option("--window", options.window,
                    "Attend to the keys from LEFT before to RIGHT after the diagonal; -1 is unlimited")
        ->delimiter(',')
        ->check(fits_int64())
        ->type_name("LEFT,RIGHT");
    add_file_option(command, "--key-lengths", options.key_lengths,
                    "Number of keys of each batch entry, int32 [batch]; later keys are ignored");
    add_file_option(command, "--bias", options.bias, "Added to scores, [batch|1, heads|1, seqlen_q|1, seqlen_k]");
    add_file_option(command, "--mask", options.mask,
                    "Boolean, in the shapes of --bias: true keeps a key, false masks it");
    command.add_option("--softcap", options.softcap, "Scores become X*tanh(score/X)")->type_name("X");
    add_file_option(command, "--alibi", options.alibi,
                    "ALiBi slopes, [heads]: adds -slope * (distance from the diagonal) to the scores");
}

CLI::Option *add_execution_options(CLI::App &command, AttentionOptions &options) {
    std::vector<std::string> dtypes;
    for (const Dtype &dtype : kDtypes) {
        if (dtype.on_cpu) {
            dtypes.push_back(dtype.name);
        }
    }
    CLI::Option *kernel = command.add_option("--kernel", options.kernel, "Force this kernel (see flashwright info)")
                              ->check(not_empty())
                              ->type_name("NAME");
    command
        .add_option("--threads", options.threads,
                    "Number of threads (default: FLASHWRIGHT_THREADS, else all processors)")
        ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()).description(""))
        ->type_name("N");
    command.add_option("--isa", options.isa, "Force this instruction set (see flashwright info)")
        ->check(not_empty())
        ->type_name("NAME");
    command.add_option("--backend", options.backend, "Where to run: cpu (default), or on a GPU with opencl or cuda")
        ->check(CLI::IsMember({"cpu", "opencl", "cuda"}).description(""))
        ->type_name("cpu|opencl|cuda");
    command.add_option("--dtype", options.dtype, "Fail unless the tensors have this type")
        ->check(CLI::IsMember(dtypes).description(""))
        ->type_name(fmt::format("{}", fmt::join(dtypes, "|")));
    command.add_flag("--verify", options.verify,
                     "Compare with reference attention in double; fail if an error is above the tolerance");
    return kernel;
}

flashwright_score_options score_options(const AttentionOptions &options, ScoreFiles &files) {
    flashwright_score_options score = {};
    score.softmax_scale = options.scale ? &*options.scale : nullptr;
    score.causal = options.causal ? 1 : 0;
    score.align = options.align.empty()         ? FLASHWRIGHT_ALIGN_DEFAULT
                  : options.align == "top-left" ? FLASHWRIGHT_ALIGN_TOP_LEFT
                                                : FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    score.diagonal = options.diagonal ? &*options.diagonal : nullptr;
    score.window_left = options.window.first;
    score.window_right = options.window.second;
    score.softcap = options.softcap;
    score.key_lengths = read_optional("key_lengths", options.key_lengths, files.key_lengths);
    score.bias = read_optional("bias", options.bias, files.bias);
    score.mask = read_optional("mask", options.mask, files.mask);
    score.alibi_slopes = read_optional("alibi_slopes", options.alibi, files.alibi);
    return score;
}

flashwright_execution execution_options(const AttentionOptions &options) {
    flashwright_execution result = {};
    result.threads = options.threads;
    result.isa = options.isa.empty() ? nullptr : options.isa.c_str();
    result.kernel = options.kernel.empty() ? nullptr : options.kernel.c_str();
    result.key_block = options.key_block;
    return result;
}

void check_options(const AttentionOptions &options, flashwright_dtype dtype) {
    if (!options.dtype.empty() && options.dtype != element_type(dtype).name) {
        throw std::runtime_error(
            fmt::format("q: expected {} (--dtype), got {}", options.dtype, element_type(dtype).name));
    }
}

}  // namespace flashwright
