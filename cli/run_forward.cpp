#include "attention_options.h"
#include "commands.h"
#include "gpu_backend.h"
#include "kernels/dtype_dispatch.h"
#include "measure/check_status.h"
#include "message.h"
#include "reference/attention_error.h"
#include "reference/reference_attention.h"
#include "support/clocks.h"
#include "support/file.h"
#include "tensor_files.h"
#include "validators.h"

#include <fmt/format.h>

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

void run_forward(const ForwardOptions &options) {
    std::vector<std::string> places = {options.out};
    if (!options.lse.empty()) {
        places.push_back(options.lse);
    }
    check_places(places);
    const TensorFile q("q", options.q, 2), k("k", options.k, 2), v("v", options.v, 2);
    const flashwright_dtype dtype = q.array().dtype;
    check_options(options.attention, dtype);
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
                                     score_options(options.attention, files)};
    const bool on_cpu = options.attention.backend == "cpu";
    const flashwright_execution how = execution_options(options.attention);
    std::int32_t kernel = -1;
    if (on_cpu) {
        check(flashwright_forward_choice(&args, &how, &kernel, nullptr, 0));
    } else {
        check_gpu_options(options.attention);
    }
    allocate(out);
    allocate(lse);
    args.out.data = out.data.get();
    args.softmax_lse.data = lse.data.get();
    const double start = wall_seconds();
    std::string name;
    if (on_cpu) {
        check(flashwright_forward(&args, &how));
        name = flashwright_kernel(kernel).name;
    } else {
        name = forward_on_gpu(args, options.attention.backend);
    }
    print_message(fmt::format("{}: {:.3g} ms\n", name, 1e3 * (wall_seconds() - start)));
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
    add_file_option(command, "--out", options.out, "Where the output goes")->required();
    add_file_option(command, "--lse", options.lse, "Where the logarithm of each row's sum of exponentials goes");
}

void add_key_block(CLI::App &command, CLI::Option *kernel, ForwardOptions &options) {
    command
        .add_option("--key-block", options.attention.key_block, "Force N keys a block, N >= 1, by the generic kernel")
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
    command->footer(
        "Tensors are .npy files, f32 or f64, of rank 4, 3 or 2 (without batch, without heads).\n"
        "Example:\n  flashwright run forward --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --causal");
    command->callback([options] { run_forward(*options); });
}

}  // namespace flashwright
