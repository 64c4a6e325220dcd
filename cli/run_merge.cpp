#include "commands.h"
#include "measure/check_status.h"
#include "run_summary.h"
#include "support/clocks.h"
#include "support/file.h"
#include "tensor_files.h"
#include "validators.h"

#include <memory>

namespace flashwright {
namespace {

struct MergePaths {
    std::string out_a, lse_a, out_b, lse_b, out, lse;
};

void run_merge(const MergePaths &paths) {
    check_places({paths.out, paths.lse});
    const TensorFile out_a("out_a", paths.out_a), lse_a("lse_a", paths.lse_a);
    const TensorFile out_b("out_b", paths.out_b), lse_b("lse_b", paths.lse_b);
    const NpyArray out = new_array("out", out_a.array().dtype, out_a.array().shape);
    const NpyArray lse = new_array("lse", lse_a.array().dtype, lse_a.array().shape);
    const flashwright_merge_args args = {out_a.tensor(), lse_a.tensor(),        out_b.tensor(),
                                         lse_b.tensor(), tensor_of("out", out), tensor_of("lse", lse)};
    const char *kernel = nullptr;
    flashwright_execution execution = {};
    execution.kernel_used = &kernel;
    const double start = wall_seconds();
    check(flashwright_merge(&args, &execution));
    print_run(kernel, wall_seconds() - start, {{"out_a", args.out_a, {"batch", "heads", "seqlen_q", "head_dim_v"}}});
    write_npy({{paths.out, &out}, {paths.lse, &lse}});
}

}  // namespace

void add_run_merge(CLI::App &run) {
    auto paths = std::make_shared<MergePaths>();
    CLI::App *command = run.add_subcommand("merge", "Merge two attention results over disjoint sets of keys");
    const auto file = [&](const char *name, std::string &path, const char *text) {
        add_file_option(*command, name, path, text)->required();
    };
    file("--out-a", paths->out_a, "Output over the first set of keys, [batch, heads, seqlen_q, head_dim_v]");
    file("--lse-a", paths->lse_a, "lse of the first set, [batch, heads, seqlen_q]");
    file("--out-b", paths->out_b, "Output over the second set, in the same shape");
    file("--lse-b", paths->lse_b, "lse of the second set, in the same shape");
    file("--out", paths->out, "Output over both sets");
    file("--lse", paths->lse, "Output: lse over both sets");
    command->footer(
        "Example:\n  flashwright run merge --out-a out_a.npy --lse-a lse_a.npy --out-b out_b.npy --lse-b lse_b.npy "
        "--out out.npy --lse lse.npy");
    command->callback([paths] { run_merge(*paths); });
}

}  // namespace flashwright
