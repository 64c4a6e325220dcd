#include "commands.h"
#include "measure/check_status.h"
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
    check(flashwright_merge(&args, nullptr));
    write_npy({{paths.out, &out}, {paths.lse, &lse}});
}

}  // namespace

void add_run_merge(CLI::App &run) {
    auto paths = std::make_shared<MergePaths>();
    CLI::App *command = run.add_subcommand("merge", "Join two attention results over disjoint sets of keys");
    const auto file = [&](const char *name, std::string &path, const char *text) {
        add_file_option(*command, name, path, text)->required();
    };
    file("--out-a", paths->out_a, "Output over the first set of keys, [batch, heads, seqlen_q, head_dim_v]");
    file("--lse-a", paths->lse_a, "Its lse, [batch, heads, seqlen_q]");
    file("--out-b", paths->out_b, "Output over the second set");
    file("--lse-b", paths->lse_b, "Its lse");
    file("--out", paths->out, "Where the output over both goes");
    file("--lse", paths->lse, "Where its lse goes");
    command->footer(
        "Example:\n  flashwright run merge --out-a out_a.npy --lse-a lse_a.npy --out-b out_b.npy --lse-b lse_b.npy "
        "--out out.npy --lse lse.npy");
    command->callback([paths] { run_merge(*paths); });
}

}  // namespace flashwright
