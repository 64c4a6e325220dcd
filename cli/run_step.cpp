#include "commands.h"
#include "measure/check_status.h"
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
    check(flashwright_online_softmax_step(&args, nullptr));
    write_npy({{paths.m_out, &m_out}, {paths.l_out, &l_out}, {paths.acc_out, &acc_out}});
}

}  // namespace

void add_run_step(CLI::App &run) {
    auto paths = std::make_shared<StepPaths>();
    CLI::App *command = run.add_subcommand("step", "Take one block of keys into a state of the online softmax");
    const auto file = [&](const char *name, std::string &path, const char *text) {
        add_file_option(*command, name, path, text)->required();
    };
    file("--m", paths->m, "Largest score so far, [batch, heads, seqlen_q]; -inf at the start");
    file("--l", paths->l, "Sum of exp(score - m) so far, likewise; 0 at the start");
    file("--acc", paths->acc, "Sum of exp(score - m) v so far, [batch, heads, seqlen_q, head_dim_v]; 0 at the start");
    file("--scores", paths->scores, "Scaled scores of the block, [batch, heads, seqlen_q, block]; -inf hides a key");
    file("--v", paths->v, "Values of the block, [batch, heads_kv, block, head_dim_v]");
    file("--m-out", paths->m_out, "Where the new m goes");
    file("--l-out", paths->l_out, "Where the new l goes");
    file("--acc-out", paths->acc_out, "Where the new acc goes; attention is acc / l");
    command->footer(
        "Example:\n  flashwright run step --m m.npy --l l.npy --acc acc.npy --scores scores.npy --v v.npy "
        "--m-out m.npy --l-out l.npy --acc-out acc.npy");
    command->callback([paths] { run_step(*paths); });
}

}  // namespace flashwright
