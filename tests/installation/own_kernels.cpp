// A library of the kernels that own_kernels.json and OPS forward, DTYPES f32, one ISA name: those and no others serve
// calls.
#include "small_attention.h"

#include <cstdio>
#include <cstring>
#include <string>

int main() {
    std::string kernels;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        kernels += std::string(kernel.name) + " ";
        if (std::strcmp(kernel.op, "forward") != 0 || kernel.dtype != FLASHWRIGHT_F32) {
            std::printf("not asked for: %s\n", kernel.name);
            return 1;
        }
    }
    std::printf("%s\n", kernels.c_str());

    SmallAttention attention;
    const flashwright_forward_args args =
        flashwright::to_c(attention.query(), attention.key(), attention.value(), attention.output(), {}, {});
    std::int32_t chosen = -1;
    char reason[200];
    const flashwright::Status choice = flashwright_forward_choice(&args, nullptr, &chosen, reason, sizeof reason);
    std::printf("%s%s\n", reason, choice.message());
    const std::string name = choice.ok() ? flashwright_kernel(chosen).name : "";
    if (name.size() < 4 || name.substr(name.size() - 4) != "_own") return 1;

    const flashwright::Status forward = flashwright_forward(&args, nullptr);
    const double error = attention.largest_error();
    std::printf("largest error %.2g %s\n", error, forward.message());
    if (!forward.ok() || !(error < 1e-5)) return 1;

    // Left out: an answer, not a crash.
    float lse[2] = {0, 0}, row[2] = {1, 1};
    const flashwright::ConstTensorView state(row, {2, 1}), state_lse(lse, {2});
    float out[2] = {}, out_lse[2] = {};
    const flashwright::Status merge =
        flashwright::merge(state, state_lse, state, state_lse, {out, {2, 1}}, {out_lse, {2}});
    std::printf("merge: %s\n", merge.message());
    return merge.code() == FLASHWRIGHT_UNSUPPORTED ? 0 : 1;
}
