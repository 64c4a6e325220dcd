#include "attention_options.h"
#include "commands.h"
#include "gpu_backend.h"
#include "kernels/dtype_dispatch.h"
#include "measure/check_status.h"
#include "reference/attention_error.h"
#include "reference/reference_attention.h"
#include "run_summary.h"
#include "support/clocks.h"
#include "support/file.h"
#include "tensor_files.h"
#include "validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>
#include <stdexcept>

namespace flashwright {
namespace {

struct ForwardOptions {
    std::string q, k, v, out, lse;
    AttentionOptions attention;
};

void verify(const flashwright_forward_args &args) {
    const AttentionError error = attention_error(reference_attention(args), args.out, args.softmax_lse);
    const double tolerance = forward_tolerance(args.q.dtype);
    fmt::print("largest error of out: {:.2e} of its largest value\n", error.out);
    fmt::print("largest error of lse: {:.2e} of max(1, |lse|)\n", error.softmax_lse);
    if (error.out > tolerance || error.softmax_lse > tolerance) {
        throw std::runtime_error(fmt::format("verification failed: expected errors of at most {:g} for {}", tolerance,
                                             element_type(args.q.dtype).name));
    }
}

// The library checks the call before memory is allocated for the outputs, which may be far larger than the inputs.
void check_call(const flashwright_forward_args &args, const AttentionOptions &options) {
    if (options.backend != "cpu") return;
    const flashwright_execution execution = execution_options(options);
    check(flashwright_forward_choice(&args, &execution, nullptr, nullptr, 0));
}

// Returns the kernel that ran.
std::string run_kernel(const flashwright_forward_args &args, const AttentionOptions &options) {
    if (options.backend != "cpu") {
        return forward_on_gpu(args, options.backend);
    }
    const char *kernel = nullptr;
    flashwright_execution execution = execution_options(options);
    execution.kernel_used = &kernel;
    check(flashwright_forward(&args, &execution));
    return kernel;
}

void run_forward(const ForwardOptions &options) {
    std::vector<std::string> places = {options.out};
    if (!options.lse.empty()) {
        places.push_back(options.lse);
    }
    check_places(places);
    const TensorFile q("q", options.q, 2), k("k", options.k, 2), v("v", options.v, 2);
    const flashwright_dtype dtype = q.array().dtype;
    check_options(options.attention, dtype);
    if (options.attention.backend != "cpu") {
        check_gpu_options(options.attention);
    }
    std::vector<std::int64_t> rows = q.array().shape;
    rows.pop_back();
    NpyArray lse = planned_array(accumulation_dtype(dtype), rows);
    rows.push_back(v.array().shape.back());
    NpyArray out = planned_array(dtype, rows);

    ScoreFiles files;
    flashwright_forward_args args = {q.tensor(),
                                     k.tensor(),
                                     v.tensor(),
                                     tensor_of("out", out),
                                     tensor_of("lse", lse),
                                     score_options(options.attention, files)};
    check_call(args, options.attention);
    allocate("lse", lse);
    allocate("out", out);
    args.softmax_lse.data = lse.data.get();
    args.out.data = out.data.get();

    const double start = wall_seconds();
    const std::string kernel = run_kernel(args, options.attention);
    print_run(kernel, wall_seconds() - start, attention_inputs(args.q, args.k, args.v));
    if (options.attention.verify) {
        verify(args);
    }
    std::vector<NpyOutput> outputs = {{options.out, &out}};
    if (!options.lse.empty()) {
        outputs.push_back({options.lse, &lse});
    }
    write_npy(outputs);
}

void add_tensor_options(CLI::App &command, ForwardOptions &options) {
    add_file_option(command, "--q", options.q, "Queries, [batch, heads, seqlen_q, head_dim]")->required();
    add_file_option(command, "--k", options.k, "Keys, [batch, heads_kv, seqlen_k, head_dim]")->required();
    add_file_option(command, "--v", options.v, "Values, [batch, heads_kv, seqlen_k, head_dim_v]")->required();
    add_file_option(command, "--out", options.out, "Output, [batch, heads, seqlen_q, head_dim_v]")->required();
    add_file_option(command, "--lse", options.lse,
                    "Output: log of each row's sum of exponentials, [batch, heads, seqlen_q]");
}

void add_key_block(CLI::App &command, CLI::Option *kernel, ForwardOptions &options) {
    command
        .add_option("--key-block", options.attention.key_block,
                    "Force blocks of N keys, N >= 1; uses the generic kernel")
        ->check(fits_int64())
        ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""))
        ->excludes(kernel)
        ->type_name("N");
}

}  // namespace

void add_run_forward(CLI::App &run) {
    auto options = std::make_shared<ForwardOptions>();
    CLI::App *command = run.add_subcommand("forward", "Attention: out = softmax(scale * Q K^T) V, row by row");
    add_tensor_options(*command, *options);
    add_score_options(*command, options->attention);
    add_key_block(*command, add_execution_options(*command, options->attention), *options);
    command->footer(fmt::format(
        "Tensors are .npy files of {}. Rank 4 is [batch, heads, seqlen, head_dim]; rank 3 lacks the batch,\n"
        "rank 2 also the heads.\n"
        "Example:\n  flashwright run forward --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --causal",
        fmt::join(cpu_dtype_names(), " or ")));
    command->callback([options] { run_forward(*options); });
}

}  // namespace flashwright
