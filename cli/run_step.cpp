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

struct StepPaths {
    std::string m, l, acc, scores, v, m_out, l_out, acc_out;
};

NpyArray array_like(const std::string &name, const TensorFile &file) {
    return new_array(name, file.array().dtype, file.array().shape);
}

void run_step(const StepPaths &paths) {
    check_places({paths.m_out, paths.l_out, paths.acc_out});
    const TensorFile m("m", paths.m), l("l", paths.l), acc("acc", paths.acc);
    const TensorFile scores("scores", paths.scores), v("v", paths.v);
    const NpyArray m_out = array_like("m_out", m), l_out = array_like("l_out", l), acc_out = array_like("acc_out", acc);
    const flashwright_step_args args = {m.tensor(),
                                        l.tensor(),
                                        acc.tensor(),
                                        scores.tensor(),
                                        v.tensor(),
                                        tensor_of("m_out", m_out),
                                        tensor_of("l_out", l_out),
                                        tensor_of("acc_out", acc_out)};
    const char *kernel = nullptr;
    flashwright_execution execution = {};
    execution.kernel_used = &kernel;
    const double start = wall_seconds();
    check(flashwright_online_softmax_step(&args, &execution));
    print_run(kernel, wall_seconds() - start,
              {{"acc", args.acc, {"batch", "heads", "seqlen_q", "head_dim_v"}},
               {"scores", args.scores, {"batch", "heads", "seqlen_q", "block"}},
               {"v", args.v, {"batch", "heads_kv", "block", "head_dim_v"}}});
    write_npy({{paths.m_out, &m_out}, {paths.l_out, &l_out}, {paths.acc_out, &acc_out}});
}

}  // namespace

void add_run_step(CLI::App &run) {
    auto paths = std::make_shared<StepPaths>();
    CLI::App *command = run.add_subcommand("step", "Update the state of the online softmax with one block of keys");
    const auto file = [&](const char *name, std::string &path, const char *text) {
        add_file_option(*command, name, path, text)->required();
    };
    file("--m", paths->m, "Largest score so far, [batch, heads, seqlen_q]; start with -inf");
    file("--l", paths->l, "Sum of exp(score - m) so far, [batch, heads, seqlen_q]; start with 0");
    file("--acc", paths->acc, "Sum of exp(score - m) v so far, [batch, heads, seqlen_q, head_dim_v]; start with 0");
    file("--scores", paths->scores, "Scaled scores of the block, [batch, heads, seqlen_q, block]; -inf masks a key");
    file("--v", paths->v, "Values of the block, [batch, heads_kv, block, head_dim_v]");
    file("--m-out", paths->m_out, "Output: the new m");
    file("--l-out", paths->l_out, "Output: the new l");
    file("--acc-out", paths->acc_out, "Output: the new acc; after the last block attention is acc / l");
    command->footer(
        "Example:\n  flashwright run step --m m.npy --l l.npy --acc acc.npy --scores scores.npy --v v.npy "
        "--m-out m.npy --l-out l.npy --acc-out acc.npy");
    command->callback([paths] { run_step(*paths); });
}

}  // namespace flashwright
