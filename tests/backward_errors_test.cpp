// Wrong arguments of backward, as in forward_errors_test.cpp; calls that run out of memory; packed gradients.
#include "tests/support/gradient.h"
#include "tests/support/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace flashwright::test {

namespace {

constexpr auto kInvalid = FLASHWRIGHT_INVALID_ARGUMENT;
constexpr auto kUnsupported = FLASHWRIGHT_UNSUPPORTED;
const double kNaN = std::nan("");

Options everything_given() {
    Options o;
    o.key_fractions = {0.5, 1};
    o.bias = o.mask = Coverage{};
    o.alibi = true;
    return o;
}

// A valid call with every optional tensor. Each test makes one argument wrong.
struct BackwardCall {
    BackwardCall() : problem(FLASHWRIGHT_F32, {2, 4, 2, 5, 20, 8, 32}, everything_given()), args(problem.args()) {
        EXPECT_TRUE(is_ok(run(problem.forward)));
        bias = *args.score.bias, args.score.bias = &bias;
    }
    GradientProblem problem;
    flashwright_backward_args args;
    flashwright_tensor bias;
    flashwright_execution execution{};
};

struct WrongBackward {
    const char *name;
    std::function<void(BackwardCall &)> spoil;
    flashwright_code code;
    std::vector<std::string> message;
};

const std::vector<WrongBackward> kWrongBackward = {
    {"q NULL", [](BackwardCall &c) { c.args.q.data = nullptr; }, kInvalid, {"q:", "NULL"}},
    {"out NULL", [](BackwardCall &c) { c.args.out.data = nullptr; }, kInvalid, {"out:", "NULL"}},
    {"softmax_lse missing",
     [](BackwardCall &c) { c.args.softmax_lse.data = nullptr; },
     kInvalid,
     {"softmax_lse:", "NULL"}},
    {"softmax_lse empty", [](BackwardCall &c) { c.args.softmax_lse = {}; }, kInvalid, {"softmax_lse:", "rank"}},
    {"dout NULL", [](BackwardCall &c) { c.args.dout.data = nullptr; }, kInvalid, {"dout:", "NULL"}},
    {"dq NULL", [](BackwardCall &c) { c.args.dq.data = nullptr; }, kInvalid, {"dq:", "NULL"}},
    {"dk NULL", [](BackwardCall &c) { c.args.dk.data = nullptr; }, kInvalid, {"dk:", "NULL"}},
    {"dv NULL", [](BackwardCall &c) { c.args.dv.data = nullptr; }, kInvalid, {"dv:", "NULL"}},
    {"dout dtype", [](BackwardCall &c) { c.args.dout.dtype = FLASHWRIGHT_F64; }, kInvalid, {"dout:", "f32", "f64"}},
    {"dq dtype", [](BackwardCall &c) { c.args.dq.dtype = FLASHWRIGHT_F64; }, kInvalid, {"dq:", "f32", "f64"}},
    {"dbias dtype",
     [](BackwardCall &c) { c.args.dbias.dtype = FLASHWRIGHT_BOOL; },
     kInvalid,
     {"dbias:", "f32", "bool"}},
    {"dk misaligned",
     [](BackwardCall &c) { c.args.dk.data = static_cast<char *>(c.args.dk.data) + 2; },
     kInvalid,
     {"dk:", "aligned"}},
    {"dout rank", [](BackwardCall &c) { c.args.dout.rank = 5; }, kInvalid, {"dout:", "rank", "5"}},
    {"lse rows", [](BackwardCall &c) { c.args.softmax_lse.shape[2] = 4; }, kInvalid, {"softmax_lse:", "5", "4"}},
    {"dout channels",
     [](BackwardCall &c) { c.args.dout.shape[3] = 31; },
     kInvalid,
     {"dout:", "head_dim_v", "32", "31"}},
    {"dout rows", [](BackwardCall &c) { c.args.dout.shape[2] = 4; }, kInvalid, {"dout:", "seqlen_q", "5", "4"}},
    {"dq heads", [](BackwardCall &c) { c.args.dq.shape[1] = 3; }, kInvalid, {"dq:", "num_heads", "4", "3"}},
    {"dq channels", [](BackwardCall &c) { c.args.dq.shape[3] = 7; }, kInvalid, {"dq:", "head_dim", "8", "7"}},
    {"dk heads", [](BackwardCall &c) { c.args.dk.shape[1] = 1; }, kInvalid, {"dk:", "num_heads_kv", "2", "1"}},
    {"dk keys", [](BackwardCall &c) { c.args.dk.shape[2] = 19; }, kInvalid, {"dk:", "seqlen_k", "20", "19"}},
    {"dv batch", [](BackwardCall &c) { c.args.dv.shape[0] = 1; }, kInvalid, {"dv:", "batch", "2", "1"}},
    {"dv channels", [](BackwardCall &c) { c.args.dv.shape[3] = 8; }, kInvalid, {"dv:", "head_dim_v", "32", "8"}},
    {"dbias rows", [](BackwardCall &c) { c.args.dbias.shape[2] = 1; }, kInvalid, {"dbias:", "seqlen_q", "5", "1"}},
    {"dbias without bias", [](BackwardCall &c) { c.args.score.bias = nullptr; }, kInvalid, {"dbias:", "bias"}},
    {"dq on itself", [](BackwardCall &c) { c.args.dq.strides[2] = 0; }, kInvalid, {"dq:", "overlap"}},
    {"dbias on itself", [](BackwardCall &c) { c.args.dbias.strides[3] = 0; }, kInvalid, {"dbias:", "overlap"}},
    {"dq on q", [](BackwardCall &c) { c.args.q.data = c.args.dq.data; }, kInvalid, {"dq:", " q,", "overlap"}},
    {"dk on dq", [](BackwardCall &c) { c.args.dk.data = c.args.dq.data; }, kInvalid, {"dk:", "dq", "overlap"}},
    {"dv on out", [](BackwardCall &c) { c.args.out.data = c.args.dv.data; }, kInvalid, {"dv:", "out", "overlap"}},
    {"dv on dout",
     [](BackwardCall &c) { c.args.dout.data = floats(c.args.dv) + 1; },
     kInvalid,
     {"dv:", "dout", "overlap"}},
    {"dk on lse",
     [](BackwardCall &c) { c.args.softmax_lse.data = c.args.dk.data; },
     kInvalid,
     {"dk:", "softmax_lse", "overlap"}},
    {"dbias on bias",
     [](BackwardCall &c) { c.bias.data = c.args.dbias.data; },
     kInvalid,
     {"dbias:", "bias", "overlap"}},
    {"key_lengths negative",
     [](BackwardCall &c) { c.problem.forward.key_lengths.set({1}, -1); },
     kInvalid,
     {"key_lengths[1]:", "20", "-1"}},
    {"key_lengths too long",
     [](BackwardCall &c) { c.problem.forward.key_lengths.set({0}, 21); },
     kInvalid,
     {"key_lengths[0]:", "20", "21"}},
    {"window_left", [](BackwardCall &c) { c.args.score.window_left = -2; }, kInvalid, {"window_left:", "-2"}},
    {"causal", [](BackwardCall &c) { c.args.score.causal = 2; }, kInvalid, {"causal:", "2"}},
    {"softcap", [](BackwardCall &c) { c.args.score.softcap = kNaN; }, kInvalid, {"softcap:"}},
    {"kernel of forward",
     [](BackwardCall &c) { c.execution.kernel = plainest_kernel("forward"); },
     kInvalid,
     {"kernel:", "backward"}},
    {"kernel without the terms",
     [](BackwardCall &c) { c.execution.kernel = plainest_kernel("backward"); },
     kUnsupported,
     {plainest_kernel("backward"), "term"}},
    {"isa unknown", [](BackwardCall &c) { c.execution.isa = "mmx"; }, kInvalid, {"isa:", "mmx"}},
    {"threads", [](BackwardCall &c) { c.execution.threads = -9; }, kInvalid, {"threads:", "-9"}},
};

}  // namespace

TEST(BackwardErrors, Table) {
    BackwardCall right;
    ASSERT_TRUE(is_ok(flashwright_backward(&right.args, &right.execution)));
    for (const WrongBackward &wrong : kWrongBackward) {
        SCOPED_TRACE(wrong.name);
        BackwardCall call;
        call.problem.poison_outputs();
        wrong.spoil(call);
        expect_message(flashwright_backward(&call.args, &call.execution), wrong.code, wrong.message);
        EXPECT_TRUE(call.problem.outputs_untouched());
    }
    expect_message(flashwright_backward(nullptr, nullptr), kInvalid, {"args", "NULL"});
    std::int32_t kernel = 5;
    expect_message(flashwright_backward_choice(nullptr, nullptr, &kernel, nullptr, 0), kInvalid, {"args", "NULL"});
    EXPECT_EQ(kernel, -1);
    flashwright_backward_args_init(nullptr);
}

// A call that runs out of memory writes nothing.
TEST(BackwardErrors, OutOfMemory) {
    BackwardCall call;
    call.problem.poison_outputs();
    int left = 0;
    call.execution.memory_context = &left;
    call.execution.allocate = [](void *context, std::size_t bytes, std::size_t) -> void * {
        return (*static_cast<int *>(context))-- > 0 ? std::aligned_alloc(128, (bytes + 127) / 128 * 128) : nullptr;
    };
    call.execution.deallocate = [](void *, void *block, std::size_t) { std::free(block); };
    for (int allowed : {0, 1}) {
        left = allowed;
        expect_message(flashwright_backward(&call.args, &call.execution), FLASHWRIGHT_OUT_OF_MEMORY,
                       {"working memory"});
        EXPECT_TRUE(call.problem.outputs_untouched());
    }
    left = 2;
    EXPECT_TRUE(is_ok(flashwright_backward(&call.args, &call.execution)));
}

// dq, dk and dv may be parts of one packed tensor.
TEST(BackwardErrors, InterleavedGradientsAreNoOverlap) {
    GradientProblem p(FLASHWRIGHT_F32, {2, 3, 3, 7, 7, 8, 8});
    ASSERT_TRUE(is_ok(run(p)));
    Tensor packed(FLASHWRIGHT_F32, {2, 7, 9, 8});  // [batch, seqlen, 3 * heads, head_dim]
    flashwright_backward_args args = p.args();
    std::int64_t part = 0;
    for (flashwright_tensor *tensor : {&args.dq, &args.dk, &args.dv}) {
        tensor->data = floats(packed.view()) + 3 * 8 * part++;
        const std::int64_t strides[] = {7 * 9 * 8, 8, 9 * 8, 1};
        std::copy(strides, strides + 4, tensor->strides);
    }
    ASSERT_TRUE(is_ok(flashwright_backward(&args, nullptr)));
    part = 0;
    for (const Tensor *tensor : {&p.dq, &p.dk, &p.dv}) {
        for (std::int64_t h = 0; h < 3; h++)
            for (std::int64_t i = 0; i < 7; i++)
                EXPECT_EQ(packed.get({1, i, 3 * part + h, 5}), tensor->get({1, h, i, 5}));
        part++;
    }
}

}  // namespace flashwright::test
