#include "attention_options.h"
#include "commands.h"
#include "gpu_backend.h"
#include "kernels/dtype_dispatch.h"
#include "measure/check_status.h"
#include "reference/attention_error.h"
#include "reference/reference_gradient.h"
#include "run_summary.h"
#include "support/clocks.h"
#include "support/file.h"
#include "tensor_files.h"
#include "validators.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

namespace flashwright {
namespace {

struct BackwardOptions {
    std::string q, k, v, out, lse, dout, dq, dk, dv, dbias;
    AttentionOptions attention;
};

void verify(const flashwright_backward_args &args) {
    const GradientError error = gradient_error(expected_gradient(args), args);
    const double tolerance = gradient_tolerance(args.q.dtype);
    double largest = 0;
    for (const auto &[name, value] : error.gradients) {
        fmt::print("largest error of {}: {:.2e} of the largest gradient\n", name, value);
        largest = std::max(largest, value);
    }
    if (largest > tolerance) {
        throw std::runtime_error(fmt::format("verification failed: expected errors of at most {:g} for {}", tolerance,
                                             element_type(args.q.dtype).name));
    }
}

// Returns the kernel that ran.
std::string run_kernel(const flashwright_backward_args &args, const AttentionOptions &options) {
    if (options.backend != "cpu") {
        return backward_on_gpu(args, options.backend);
    }
    const char *kernel = nullptr;
    flashwright_execution execution = execution_options(options);
    execution.kernel_used = &kernel;
    check(flashwright_backward(&args, &execution));
    return kernel;
}

void run_backward(const BackwardOptions &options) {
    std::vector<std::string> places = {options.dq, options.dk, options.dv};
    if (!options.dbias.empty()) {
        places.push_back(options.dbias);
    }
    check_places(places);
    const TensorFile q("q", options.q, 2), k("k", options.k, 2), v("v", options.v, 2), out("out", options.out, 2),
        lse("lse", options.lse), dout("dout", options.dout, 2);
    const flashwright_dtype dtype = q.array().dtype;
    check_options(options.attention, dtype);
    if (options.attention.backend != "cpu") {
        check_gpu_options(options.attention);
    }
    ScoreFiles files;
    flashwright_backward_args args;
    flashwright_backward_args_init(&args);
    args.q = q.tensor();
    args.k = k.tensor();
    args.v = v.tensor();
    args.out = out.tensor();
    args.softmax_lse = lse.tensor();
    args.dout = dout.tensor();
    args.score = score_options(options.attention, files);

    const NpyArray dq = new_array("dq", dtype, q.array().shape), dk = new_array("dk", dtype, k.array().shape),
                   dv = new_array("dv", dtype, v.array().shape);
    args.dq = tensor_of("dq", dq);
    args.dk = tensor_of("dk", dk);
    args.dv = tensor_of("dv", dv);
    std::vector<NpyOutput> outputs = {{options.dq, &dq}, {options.dk, &dk}, {options.dv, &dv}};
    std::optional<NpyArray> dbias;
    if (!options.dbias.empty()) {
        dbias = new_array("dbias", dtype, files.bias->array().shape);
        args.dbias = tensor_of("dbias", *dbias);
        outputs.push_back({options.dbias, &*dbias});
    }
    const double start = wall_seconds();
    const std::string kernel = run_kernel(args, options.attention);
    print_run(kernel, wall_seconds() - start, attention_inputs(args.q, args.k, args.v));
    if (options.attention.verify) {
        verify(args);
    }
    write_npy(outputs);
}

void add_tensor_options(CLI::App &command, BackwardOptions &options) {
    const struct {
        const char *name;
        std::string &path;
        const char *what;
    } tensors[] = {
        {"--q", options.q, "Queries, [batch, heads, seqlen_q, head_dim]"},
        {"--k", options.k, "Keys, [batch, heads_kv, seqlen_k, head_dim]"},
        {"--v", options.v, "Values, [batch, heads_kv, seqlen_k, head_dim_v]"},
        {"--out", options.out, "Output of forward, [batch, heads, seqlen_q, head_dim_v]"},
        {"--lse", options.lse, "lse of forward, [batch, heads, seqlen_q]"},
        {"--dout", options.dout, "Gradient of the output, in its shape"},
        {"--dq", options.dq, "Output: gradient of the queries, in their shape"},
        {"--dk", options.dk, "Output: gradient of the keys, in their shape"},
        {"--dv", options.dv, "Output: gradient of the values, in their shape"},
    };
    for (const auto &[name, path, what] : tensors) {
        add_file_option(command, name, path, what)->required();
    }
}

}  // namespace

void add_run_backward(CLI::App &run) {
    auto options = std::make_shared<BackwardOptions>();
    CLI::App *command = run.add_subcommand("backward", "Gradients of attention with respect to its inputs");
    add_tensor_options(*command, *options);
    add_score_options(*command, options->attention);
    add_file_option(*command, "--dbias", options->dbias, "Output: gradient of the bias, in its shape")
        ->needs(command->get_option("--bias"));
    add_execution_options(*command, options->attention);
    command->footer(
        "Give the score options of the forward call.\n"
        "Example:\n  flashwright run backward --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --dout "
        "dout.npy "
        "--dq dq.npy --dk dk.npy --dv dv.npy --causal");
    command->callback([options] { run_backward(*options); });
}

}  // namespace flashwright
