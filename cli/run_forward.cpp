#include "attention_error.h"
#include "check_status.h"
#include "clocks.h"
#include "commands.h"
#include "exact_attention.h"
#include "file.h"
#include "message.h"
#include "tensor_files.h"
#include "validators.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace flashwright {
namespace {

struct ForwardOptions {
    std::string q, k, v, out, lse, key_lengths, bias, mask, alibi;
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

// The optional tensors of a call, read if they were given.
struct ScoreFiles {
    std::optional<TensorFile> key_lengths, bias, mask, alibi;
};

flashwright_score_options score_options(const ForwardOptions &options, ScoreFiles &files) {
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

flashwright_execution execution(const ForwardOptions &options) {
    flashwright_execution result = {};
    result.threads = options.threads;
    result.isa = options.isa.empty() ? nullptr : options.isa.c_str();
    result.kernel = options.kernel.empty() ? nullptr : options.kernel.c_str();
    result.key_block = options.key_block;
    return result;
}

void verify(const flashwright_forward_args &args) {
    const AttentionError error = attention_error(exact_attention(args), args.out, args.softmax_lse);
    const double tolerance = attention_tolerance(args.q.dtype);
    fmt::print("largest error of out: {:.2e} of its largest value\n", error.out);
    fmt::print("largest error of lse: {:.2e} of max(1, |lse|)\n", error.softmax_lse);
    if (error.out > tolerance || error.softmax_lse > tolerance) {
        throw std::runtime_error(fmt::format("verification failed: expected errors of at most {:g} for {}", tolerance,
                                             dtype_name(args.q.dtype)));
    }
}

void run_forward(const ForwardOptions &options) {
    if (options.backend != "cpu") {
        throw std::runtime_error(fmt::format("backend: expected cpu, the only one built, got {}", options.backend));
    }
    std::vector<std::string> places = {options.out};
    if (!options.lse.empty()) {
        places.push_back(options.lse);
    }
    check_places(places);
    const TensorFile q("q", options.q, 2), k("k", options.k, 2), v("v", options.v, 2);
    const flashwright_dtype dtype = q.array().dtype;
    if (!options.dtype.empty() && options.dtype != dtype_name(dtype)) {
        throw std::runtime_error(
            fmt::format("q: expected {} as --dtype says, got {}", options.dtype, dtype_name(dtype)));
    }
    std::vector<std::int64_t> rows = q.array().shape;
    rows.pop_back();
    NpyArray lse = planned_array("lse", dtype, rows);
    rows.push_back(v.array().shape.back());
    NpyArray out = planned_array("out", dtype, rows);

    ScoreFiles files;
    flashwright_forward_args args = {q.tensor(),
                                     k.tensor(),
                                     v.tensor(),
                                     tensor_of("out", out),
                                     tensor_of("lse", lse),
                                     score_options(options, files)};
    const flashwright_execution how = execution(options);
    std::int32_t kernel = -1;
    check(flashwright_forward_choice(&args, &how, &kernel, nullptr, 0));
    allocate(out);
    allocate(lse);
    args.out.data = out.data.get();
    args.softmax_lse.data = lse.data.get();
    const double start = wall_seconds();
    check(flashwright_forward(&args, &how));
    print_message(fmt::format("{}: {:.3g} ms\n", flashwright_kernel(kernel).name, 1e3 * (wall_seconds() - start)));
    if (options.verify) {
        verify(args);
    }
    std::vector<NpyOutput> outputs = {{options.out, &out}};
    if (!options.lse.empty()) {
        outputs.push_back({options.lse, &lse});
    }
    write_npy(outputs);
}

void add_tensor_options(CLI::App &command, ForwardOptions &options) {
    command.add_option("--q", options.q, "Queries, [batch, heads, seqlen_q, head_dim]")->required()->type_name("F");
    command.add_option("--k", options.k, "Keys, [batch, heads_kv, seqlen_k, head_dim]")->required()->type_name("F");
    command.add_option("--v", options.v, "Values, [batch, heads_kv, seqlen_k, head_dim_v]")->required()->type_name("F");
    command.add_option("--out", options.out, "Where the output goes")->required()->type_name("F");
    command.add_option("--lse", options.lse, "Where the logarithm of each row's sum of exponentials goes")
        ->check(not_empty())
        ->type_name("F");
}

void add_score_options(CLI::App &command, ForwardOptions &options) {
    command.add_option("--scale", options.scale, "Factor of the dot products (1/sqrt(head_dim))")->type_name("X");
    command.add_flag("--causal", options.causal, "No key after the diagonal");
    CLI::Option *align = command
                             .add_option("--align", options.align,
                                         "Where the diagonal runs: query i meets key i (top-left, default), "
                                         "or the last query meets the last key of its batch entry")
                             ->check(CLI::IsMember({"top-left", "bottom-right"}).description(""))
                             ->type_name("top-left|bottom-right");
    command.add_option("--diagonal", options.diagonal, "Or explicitly: query i meets key i + N")
        ->check(fits_int64())
        ->excludes(align)
        ->type_name("N");
    command
        .add_option("--window", options.window, "Keys from LEFT before to RIGHT after the diagonal; -1 is unlimited")
        ->delimiter(',')
        ->check(fits_int64())
        ->type_name("LEFT,RIGHT");
    command.add_option("--key-lengths", options.key_lengths, "int32 [batch]: keys at and past it do not exist")
        ->check(not_empty())
        ->type_name("F");
    command.add_option("--bias", options.bias, "Added to scores, [batch|1, heads|1, seqlen_q|1, seqlen_k]")
        ->check(not_empty())
        ->type_name("F");
    command.add_option("--mask", options.mask, "Boolean, true is seen, same shapes")
        ->check(not_empty())
        ->type_name("F");
    command.add_option("--softcap", options.softcap, "Scores become X*tanh(score/X)")->type_name("X");
    command.add_option("--alibi", options.alibi, "One slope a head, times -(distance to the diagonal's key)")
        ->check(not_empty())
        ->type_name("F");
}

void add_execution_options(CLI::App &command, ForwardOptions &options) {
    CLI::Option *kernel = command.add_option("--kernel", options.kernel, "Force this kernel (see flashwright info)")
                              ->check(not_empty())
                              ->type_name("NAME");
    command.add_option("--key-block", options.key_block, "Force N keys a block, N >= 1, by the portable kernel")
        ->check(fits_int64())
        ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""))
        ->excludes(kernel)
        ->type_name("N");
    command.add_option("--threads", options.threads, "Threads (FLASHWRIGHT_THREADS, else all processors)")
        ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()).description(""))
        ->type_name("N");
    command.add_option("--isa", options.isa, "Force this instruction set: baseline, sse41, avx2, avx512")
        ->check(not_empty())
        ->type_name("NAME");
    command.add_option("--backend", options.backend, "Where to run: cpu")->type_name("NAME");
    command.add_option("--dtype", options.dtype, "What the tensors must be")
        ->check(CLI::IsMember({"f32", "f64"}).description(""))
        ->type_name("f32|f64");
    command.add_flag("--verify", options.verify, "Compare with exact attention in double; fail past the tolerance");
}

}  // namespace

void add_run_forward(CLI::App &run) {
    auto options = std::make_shared<ForwardOptions>();
    CLI::App *command = run.add_subcommand("forward", "Attention: out = softmax(scale * Q K^T) V, row by row");
    add_tensor_options(*command, *options);
    add_score_options(*command, *options);
    add_execution_options(*command, *options);
    command->footer(
        "Tensors are .npy files, f32 or f64, of rank 4, 3 or 2 (without batch, without heads).\n"
        "Example:\n  flashwright run forward --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --causal");
    command->callback([options] { run_forward(*options); });
}

}  // namespace flashwright
