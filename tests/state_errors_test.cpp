// Wrong arguments of merge and step, as in forward_errors_test.cpp.
#include <functional>

#include "tests/support/check.h"
#include "tests/support/kernels.h"

namespace flashwright::test {

namespace {

constexpr auto kInvalid = FLASHWRIGHT_INVALID_ARGUMENT;

}  // namespace

namespace {

struct MergeCall {
    MergeCall() {
        for (Tensor *tensor : {&out_a, &out_b, &out}) *tensor = Tensor(FLASHWRIGHT_F32, {2, 3, 5, 8});
        for (Tensor *tensor : {&lse_a, &lse_b, &lse}) *tensor = Tensor(FLASHWRIGHT_F32, {2, 3, 5});
        fill_g(out_a, 1), fill_g(out_b, 2), fill_g(lse_a, 3), fill_g(lse_b, 4);
        args = {out_a.view(), lse_a.view(), out_b.view(), lse_b.view(), out.view(), lse.view()};
    }
    Tensor out_a, lse_a, out_b, lse_b, out, lse;
    flashwright_merge_args args;
    flashwright_execution execution{};
};

struct WrongMerge {
    const char *name;
    std::function<void(MergeCall &)> spoil;
    flashwright_code code;
    std::vector<std::string> message;
};

const std::vector<WrongMerge> kWrongMerge = {
    {"out_a NULL", [](MergeCall &c) { c.args.out_a.data = nullptr; }, kInvalid, {"out_a:", "NULL"}},
    {"lse_b NULL", [](MergeCall &c) { c.args.lse_b.data = nullptr; }, kInvalid, {"lse_b:", "NULL"}},
    {"lse NULL", [](MergeCall &c) { c.args.lse.data = nullptr; }, kInvalid, {"lse:", "NULL"}},
    {"out_a dtype", [](MergeCall &c) { c.args.out_a.dtype = FLASHWRIGHT_BOOL; }, kInvalid, {"out_a:", "bool"}},
    {"out_b dtype", [](MergeCall &c) { c.args.out_b.dtype = FLASHWRIGHT_F64; }, kInvalid, {"out_b:", "f32", "f64"}},
    {"lse_a dtype", [](MergeCall &c) { c.args.lse_a.dtype = FLASHWRIGHT_F64; }, kInvalid, {"lse_a:", "f32", "f64"}},
    {"out_b rows", [](MergeCall &c) { c.args.out_b.shape[2] = 4; }, kInvalid, {"out_b:", "5", "4"}},
    {"out channels", [](MergeCall &c) { c.args.out.shape[3] = 7; }, kInvalid, {"out:", "8", "7"}},
    {"lse_a heads", [](MergeCall &c) { c.args.lse_a.shape[1] = 2; }, kInvalid, {"lse_a:", "3", "2"}},
    {"lse batch", [](MergeCall &c) { c.args.lse.shape[0] = 1; }, kInvalid, {"lse:", "2", "1"}},
    {"out_a rank", [](MergeCall &c) { c.args.out_a.rank = 5; }, kInvalid, {"out_a:", "rank", "5"}},
    {"out on itself", [](MergeCall &c) { c.args.out.strides[2] = 0; }, kInvalid, {"out:", "overlap"}},
    {"out shifted on out_a",
     [](MergeCall &c) { c.args.out.data = floats(c.args.out_a) + 1; },
     kInvalid,
     {"out", "out_a", "overlap"}},
    {"out on lse", [](MergeCall &c) { c.args.lse.data = c.args.out.data; }, kInvalid, {"out", "lse", "overlap"}},
    {"lse on out_a", [](MergeCall &c) { c.args.lse.data = c.args.out_a.data; }, kInvalid, {"lse", "out_a", "overlap"}},
    {"lse shifted on lse_b",
     [](MergeCall &c) { c.args.lse.data = floats(c.args.lse_b) + 1; },
     kInvalid,
     {"lse", "lse_b", "overlap"}},
    {"kernel of forward",
     [](MergeCall &c) { c.execution.kernel = plainest_kernel("forward"); },
     kInvalid,
     {"kernel:", "merge"}},
    {"isa unknown", [](MergeCall &c) { c.execution.isa = "mmx"; }, kInvalid, {"isa:", "mmx"}},
    {"threads", [](MergeCall &c) { c.execution.threads = -9; }, kInvalid, {"threads:", "-9"}},
    {"key_block", [](MergeCall &c) { c.execution.key_block = -1; }, kInvalid, {"key_block:", "-1"}},
};

struct StepCall {
    StepCall() {
        const std::vector<std::int64_t> rows = {2, 4, 5}, accumulated = {2, 4, 5, 8};
        for (Tensor *tensor : {&m, &l, &m_out, &l_out}) *tensor = Tensor(FLASHWRIGHT_F32, rows);
        for (Tensor *tensor : {&acc, &acc_out}) *tensor = Tensor(FLASHWRIGHT_F32, accumulated);
        scores = Tensor(FLASHWRIGHT_F32, {2, 4, 5, 6}), v = Tensor(FLASHWRIGHT_F32, {2, 2, 6, 8});
        fill_g(m, 1), fill_g(acc, 2), fill_g(scores, 3), fill_g(v, 4);
        l.assign([](std::int64_t) { return 1.5; });
        args = {m.view(), l.view(), acc.view(), scores.view(), v.view(), m_out.view(), l_out.view(), acc_out.view()};
    }
    Tensor m, l, acc, scores, v, m_out, l_out, acc_out;
    flashwright_step_args args;
    flashwright_execution execution{};
};

struct WrongStep {
    const char *name;
    std::function<void(StepCall &)> spoil;
    flashwright_code code;
    std::vector<std::string> message;
};

const std::vector<WrongStep> kWrongStep = {
    {"m NULL", [](StepCall &c) { c.args.m.data = nullptr; }, kInvalid, {"m:", "NULL"}},
    {"v NULL", [](StepCall &c) { c.args.v.data = nullptr; }, kInvalid, {"v:", "NULL"}},
    {"l_out NULL", [](StepCall &c) { c.args.l_out.data = nullptr; }, kInvalid, {"l_out:", "NULL"}},
    {"m dtype", [](StepCall &c) { c.args.m.dtype = FLASHWRIGHT_F64; }, kInvalid, {"m:", "f32", "f64"}},
    {"acc dtype", [](StepCall &c) { c.args.acc.dtype = FLASHWRIGHT_BOOL; }, kInvalid, {"acc:", "bool"}},
    {"scores dtype", [](StepCall &c) { c.args.scores.dtype = FLASHWRIGHT_I32; }, kInvalid, {"scores:", "i32"}},
    {"scores block", [](StepCall &c) { c.args.scores.shape[3] = 5; }, kInvalid, {"6", "5"}},
    {"scores rows", [](StepCall &c) { c.args.scores.shape[2] = 4; }, kInvalid, {"scores:", "5", "4"}},
    {"v channels", [](StepCall &c) { c.args.v.shape[3] = 7; }, kInvalid, {"v:", "8", "7"}},
    {"v heads", [](StepCall &c) { c.args.v.shape[1] = 3; }, kInvalid, {"v:", "3", "4"}},
    {"l heads", [](StepCall &c) { c.args.l.shape[1] = 3; }, kInvalid, {"l:", "4", "3"}},
    {"m_out batch", [](StepCall &c) { c.args.m_out.shape[0] = 1; }, kInvalid, {"m_out:", "2", "1"}},
    {"acc_out channels", [](StepCall &c) { c.args.acc_out.shape[3] = 9; }, kInvalid, {"acc_out:", "8", "9"}},
    {"acc_out on itself", [](StepCall &c) { c.args.acc_out.strides[3] = 0; }, kInvalid, {"acc_out:", "overlap"}},
    {"m_out on l", [](StepCall &c) { c.args.m_out.data = c.args.l.data; }, kInvalid, {"m_out", "l", "overlap"}},
    {"m_out on l_out",
     [](StepCall &c) { c.args.m_out.data = c.args.l_out.data; },
     kInvalid,
     {"m_out", "l_out", "overlap"}},
    {"acc_out shifted on acc",
     [](StepCall &c) { c.args.acc_out.data = floats(c.args.acc) + 1; },
     kInvalid,
     {"acc_out", "acc", "overlap"}},
    {"acc_out on scores",
     [](StepCall &c) { c.args.scores.data = c.args.acc_out.data; },
     kInvalid,
     {"acc_out", "scores", "overlap"}},
    {"acc_out on v", [](StepCall &c) { c.args.v.data = c.args.acc_out.data; }, kInvalid, {"acc_out", "v", "overlap"}},
    {"kernel of merge",
     [](StepCall &c) { c.execution.kernel = plainest_kernel("merge"); },
     kInvalid,
     {"kernel:", "step"}},
};

}  // namespace

TEST(MergeErrors, Table) {
    MergeCall right;
    ASSERT_TRUE(is_ok(flashwright_merge(&right.args, &right.execution)));
    const std::string inputs = right.out_a.bytes() + right.lse_a.bytes() + right.out_b.bytes() + right.lse_b.bytes();
    for (const WrongMerge &wrong : kWrongMerge) {
        SCOPED_TRACE(wrong.name);
        MergeCall call;
        wrong.spoil(call);
        expect_message(flashwright_merge(&call.args, &call.execution), wrong.code, wrong.message);
        EXPECT_TRUE(call.out.untouched() && call.lse.untouched());
        EXPECT_TRUE(call.out_a.bytes() + call.lse_a.bytes() + call.out_b.bytes() + call.lse_b.bytes() == inputs);
    }
}

TEST(StepErrors, Table) {
    StepCall right;
    ASSERT_TRUE(is_ok(flashwright_online_softmax_step(&right.args, &right.execution)));
    const std::string state = right.m.bytes() + right.l.bytes() + right.acc.bytes();
    for (const WrongStep &wrong : kWrongStep) {
        SCOPED_TRACE(wrong.name);
        StepCall call;
        wrong.spoil(call);
        expect_message(flashwright_online_softmax_step(&call.args, &call.execution), wrong.code, wrong.message);
        EXPECT_TRUE(call.m_out.untouched() && call.l_out.untouched() && call.acc_out.untouched());
        EXPECT_TRUE(call.m.bytes() + call.l.bytes() + call.acc.bytes() == state);
    }
}

}  // namespace flashwright::test
