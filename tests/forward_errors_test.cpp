// Wrong arguments: for each the status, what its message must say (the argument, what was expected, what came), and
// that no output was written.
#include "tests/support/kernels.h"

#include <cmath>
#include <functional>
#include <limits>

namespace flashwright::test {

namespace {

constexpr auto kInvalid = FLASHWRIGHT_INVALID_ARGUMENT;
constexpr auto kUnsupported = FLASHWRIGHT_UNSUPPORTED;
const double kNaN = std::nan(""), kInfinity = std::numeric_limits<double>::infinity(), kMinusOne = -1;
const std::int64_t kDiagonal = 3, kFarDiagonal = std::int64_t{1} << 40;

// A call in which every optional tensor is given, and copies of what its pointers point to, to be spoiled.
struct ForwardCall {
    ForwardCall() : problem(FLASHWRIGHT_F32, {2, 4, 2, 5, 20, 8, 32}, everything_given()), args(problem.args()) {
        key_lengths = *args.score.key_lengths, bias = *args.score.bias, mask = *args.score.mask;
        alibi = *args.score.alibi_slopes;
        args.score.key_lengths = &key_lengths, args.score.bias = &bias, args.score.mask = &mask;
        args.score.alibi_slopes = &alibi;
    }
    static Options everything_given() {
        Options o;
        o.key_fractions = {0.5, 1};
        o.bias = o.mask = Coverage{};
        o.alibi = true;
        return o;
    }

    Problem problem;
    flashwright_forward_args args;
    flashwright_tensor key_lengths, bias, mask, alibi;
    flashwright_execution execution{};
};

struct WrongForward {
    const char *name;
    std::function<void(ForwardCall &)> spoil;
    flashwright_code code;
    std::vector<std::string> message;
};

const std::vector<WrongForward> kWrongForward = {
    // pointers
    {"q NULL", [](ForwardCall &c) { c.args.q.data = nullptr; }, kInvalid, {"q:", "NULL"}},
    {"k NULL", [](ForwardCall &c) { c.args.k.data = nullptr; }, kInvalid, {"k:", "NULL"}},
    {"v NULL", [](ForwardCall &c) { c.args.v.data = nullptr; }, kInvalid, {"v:", "NULL"}},
    {"out NULL", [](ForwardCall &c) { c.args.out.data = nullptr; }, kInvalid, {"out:", "NULL"}},
    {"bias NULL", [](ForwardCall &c) { c.bias.data = nullptr; }, kInvalid, {"bias:", "NULL"}},
    {"mask NULL", [](ForwardCall &c) { c.mask.data = nullptr; }, kInvalid, {"mask:", "NULL"}},
    {"key_lengths NULL", [](ForwardCall &c) { c.key_lengths.data = nullptr; }, kInvalid, {"key_lengths:", "NULL"}},
    {"alibi_slopes NULL", [](ForwardCall &c) { c.alibi.data = nullptr; }, kInvalid, {"alibi_slopes:", "NULL"}},
    {"q misaligned",
     [](ForwardCall &c) { c.args.q.data = static_cast<char *>(c.args.q.data) + 2; },
     kInvalid,
     {"q:", "aligned"}},
    {"out misaligned",
     [](ForwardCall &c) { c.args.out.data = static_cast<char *>(c.args.out.data) + 1; },
     kInvalid,
     {"out:", "aligned"}},
    // dtypes
    {"q dtype bool", [](ForwardCall &c) { c.args.q.dtype = FLASHWRIGHT_BOOL; }, kInvalid, {"q:", "f32", "f64", "bool"}},
    {"q dtype i32", [](ForwardCall &c) { c.args.q.dtype = FLASHWRIGHT_I32; }, kInvalid, {"q:", "i32"}},
    {"q dtype 99", [](ForwardCall &c) { c.args.q.dtype = static_cast<flashwright_dtype>(99); }, kInvalid, {"q:", "99"}},
    {"k dtype", [](ForwardCall &c) { c.args.k.dtype = FLASHWRIGHT_F64; }, kInvalid, {"k:", "f32", "f64"}},
    {"v dtype", [](ForwardCall &c) { c.args.v.dtype = FLASHWRIGHT_F64; }, kInvalid, {"v:", "f32", "f64"}},
    {"out dtype", [](ForwardCall &c) { c.args.out.dtype = FLASHWRIGHT_F64; }, kInvalid, {"out:", "f32", "f64"}},
    {"softmax_lse dtype",
     [](ForwardCall &c) { c.args.softmax_lse.dtype = FLASHWRIGHT_F64; },
     kInvalid,
     {"softmax_lse:", "f32", "f64"}},
    {"bias dtype", [](ForwardCall &c) { c.bias.dtype = FLASHWRIGHT_F64; }, kInvalid, {"bias:", "f32", "f64"}},
    {"mask dtype", [](ForwardCall &c) { c.mask.dtype = FLASHWRIGHT_F32; }, kInvalid, {"mask:", "bool", "f32"}},
    {"key_lengths dtype",
     [](ForwardCall &c) { c.key_lengths.dtype = FLASHWRIGHT_F32; },
     kInvalid,
     {"key_lengths:", "i32", "f32"}},
    {"alibi_slopes dtype",
     [](ForwardCall &c) { c.alibi.dtype = FLASHWRIGHT_F64; },
     kInvalid,
     {"alibi_slopes:", "f32", "f64"}},
    // ranks
    {"q rank 1", [](ForwardCall &c) { c.args.q.rank = 1; }, kInvalid, {"q:", "rank", "1"}},
    {"q rank 5", [](ForwardCall &c) { c.args.q.rank = 5; }, kInvalid, {"q:", "rank", "5"}},
    {"q rank 0", [](ForwardCall &c) { c.args.q.rank = 0; }, kInvalid, {"q:", "rank", "0"}},
    {"q rank -1", [](ForwardCall &c) { c.args.q.rank = -1; }, kInvalid, {"q:", "rank", "-1"}},
    {"softmax_lse rank 4",
     [](ForwardCall &c) { c.args.softmax_lse.rank = 4; },
     kInvalid,
     {"softmax_lse:", "rank", "4"}},
    {"bias rank 0", [](ForwardCall &c) { c.bias.rank = 0; }, kInvalid, {"bias:", "rank", "0"}},
    {"mask rank 5", [](ForwardCall &c) { c.mask.rank = 5; }, kInvalid, {"mask:", "rank", "5"}},
    {"key_lengths rank 2", [](ForwardCall &c) { c.key_lengths.rank = 2; }, kInvalid, {"key_lengths:", "rank", "2"}},
    {"alibi_slopes rank 2", [](ForwardCall &c) { c.alibi.rank = 2; }, kInvalid, {"alibi_slopes:", "rank", "2"}},
    // shapes
    {"k batch", [](ForwardCall &c) { c.args.k.shape[0] = 1; }, kInvalid, {"k:", "2", "1"}},
    {"v batch", [](ForwardCall &c) { c.args.v.shape[0] = 1; }, kInvalid, {"v:", "2", "1"}},
    {"out batch", [](ForwardCall &c) { c.args.out.shape[0] = 1; }, kInvalid, {"out:", "2", "1"}},
    {"k head_dim", [](ForwardCall &c) { c.args.k.shape[3] = 7; }, kInvalid, {"k:", "8", "7"}},
    {"v heads", [](ForwardCall &c) { c.args.v.shape[1] = 1; }, kInvalid, {"v:", "2", "1"}},
    {"v keys", [](ForwardCall &c) { c.args.v.shape[2] = 19; }, kInvalid, {"v:", "20", "19"}},
    {"heads no multiple",
     [](ForwardCall &c) { c.args.k.shape[1] = c.args.v.shape[1] = 3; },
     kInvalid,
     {"k:", "3", "4"}},
    {"no key heads", [](ForwardCall &c) { c.args.k.shape[1] = c.args.v.shape[1] = 0; }, kInvalid, {"k:", "0"}},
    {"head_dim 0",
     [](ForwardCall &c) { c.args.q.shape[3] = c.args.k.shape[3] = 0; },
     kInvalid,
     {"q:", "head_dim", "0"}},
    {"head_dim_v 0",
     [](ForwardCall &c) { c.args.v.shape[3] = c.args.out.shape[3] = 0; },
     kInvalid,
     {"v:", "head_dim_v", "0"}},
    {"q rows negative", [](ForwardCall &c) { c.args.q.shape[2] = -1; }, kInvalid, {"q:", "-1"}},
    {"k keys negative", [](ForwardCall &c) { c.args.k.shape[2] = c.args.v.shape[2] = -5; }, kInvalid, {"k:", "-5"}},
    {"out heads", [](ForwardCall &c) { c.args.out.shape[1] = 3; }, kInvalid, {"out:", "4", "3"}},
    {"out rows", [](ForwardCall &c) { c.args.out.shape[2] = 4; }, kInvalid, {"out:", "5", "4"}},
    {"out channels", [](ForwardCall &c) { c.args.out.shape[3] = 31; }, kInvalid, {"out:", "32", "31"}},
    {"softmax_lse rows", [](ForwardCall &c) { c.args.softmax_lse.shape[2] = 6; }, kInvalid, {"softmax_lse:", "5", "6"}},
    {"softmax_lse heads",
     [](ForwardCall &c) { c.args.softmax_lse.shape[1] = 2; },
     kInvalid,
     {"softmax_lse:", "4", "2"}},
    {"bias keys", [](ForwardCall &c) { c.bias.shape[3] = 19; }, kInvalid, {"bias:", "20", "19"}},
    {"bias one key", [](ForwardCall &c) { c.bias.shape[3] = 1; }, kInvalid, {"bias:", "20", "1"}},
    {"bias rows", [](ForwardCall &c) { c.bias.shape[2] = 4; }, kInvalid, {"bias:", "5", "4"}},
    {"bias heads", [](ForwardCall &c) { c.bias.shape[1] = 2; }, kInvalid, {"bias:", "4", "2"}},
    {"mask batch", [](ForwardCall &c) { c.mask.shape[0] = 3; }, kInvalid, {"mask:", "2", "3"}},
    {"mask keys", [](ForwardCall &c) { c.mask.shape[3] = 21; }, kInvalid, {"mask:", "20", "21"}},
    {"key_lengths count", [](ForwardCall &c) { c.key_lengths.shape[0] = 1; }, kInvalid, {"key_lengths:", "2", "1"}},
    {"alibi_slopes count", [](ForwardCall &c) { c.alibi.shape[0] = 2; }, kInvalid, {"alibi_slopes:", "4", "2"}},
    {"rows without end",
     [](ForwardCall &c) {
         c.args.k.shape[2] = c.args.v.shape[2] = std::int64_t{1} << 40, c.args.k.strides[2] = c.args.v.strides[2] = 0;
     },
     kUnsupported,
     {"k:", "1099511627776"}},
    {"keys far apart",
     [](ForwardCall &c) { c.args.k.strides[2] = std::int64_t{1} << 28; },
     kUnsupported,
     {"k:", "2^31"}},
    {"diagonal too far for alibi_slopes",
     [](ForwardCall &c) { c.args.score.diagonal = &kFarDiagonal; },
     kUnsupported,
     {"diagonal:", "alibi_slopes", "1099511627776"}},
    // strides
    {"q strides past memory",
     [](ForwardCall &c) { c.args.q.strides[0] = std::numeric_limits<std::int64_t>::max(); },
     kInvalid,
     {"q:", "stride"}},
    {"k strides past memory",
     [](ForwardCall &c) { c.args.k.strides[2] = std::numeric_limits<std::int64_t>::min(); },
     kInvalid,
     {"k:", "stride"}},
    {"out rows on each other", [](ForwardCall &c) { c.args.out.strides[2] = 0; }, kInvalid, {"out:", "overlap"}},
    {"out channels on each other", [](ForwardCall &c) { c.args.out.strides[3] = 0; }, kInvalid, {"out:", "overlap"}},
    {"out rows half on each other", [](ForwardCall &c) { c.args.out.strides[2] = 31; }, kInvalid, {"out:", "overlap"}},
    {"out heads on each other", [](ForwardCall &c) { c.args.out.strides[1] = 32; }, kInvalid, {"out:", "overlap"}},
    {"softmax_lse rows on each other",
     [](ForwardCall &c) { c.args.softmax_lse.strides[2] = 0; },
     kInvalid,
     {"softmax_lse:", "overlap"}},
    // overlap
    {"out on q", [](ForwardCall &c) { c.args.q.data = c.args.out.data; }, kInvalid, {"out", "q", "overlap"}},
    {"out on k", [](ForwardCall &c) { c.args.k.data = c.args.out.data; }, kInvalid, {"out", "k", "overlap"}},
    {"out on v", [](ForwardCall &c) { c.args.v.data = c.args.out.data; }, kInvalid, {"out", "v", "overlap"}},
    {"out's last on q",
     [](ForwardCall &c) { c.args.q.data = floats(c.args.out) + c.problem.out.count() - 1; },
     kInvalid,
     {"out", "q", "overlap"}},
    {"out on softmax_lse",
     [](ForwardCall &c) { c.args.softmax_lse.data = c.args.out.data; },
     kInvalid,
     {"out", "softmax_lse", "overlap"}},
    {"softmax_lse on k",
     [](ForwardCall &c) { c.args.k.data = c.args.softmax_lse.data; },
     kInvalid,
     {"softmax_lse", "k", "overlap"}},
    {"out on bias", [](ForwardCall &c) { c.bias.data = c.args.out.data; }, kInvalid, {"out", "bias", "overlap"}},
    {"out on mask", [](ForwardCall &c) { c.mask.data = c.args.out.data; }, kInvalid, {"out", "mask", "overlap"}},
    {"softmax_lse on alibi_slopes",
     [](ForwardCall &c) { c.alibi.data = c.args.softmax_lse.data; },
     kInvalid,
     {"softmax_lse", "alibi_slopes", "overlap"}},
    // score options
    {"scale NaN",
     [](ForwardCall &c) { c.args.score.softmax_scale = &kNaN; },
     kInvalid,
     {"softmax_scale:", "finite", "nan"}},
    {"scale infinite",
     [](ForwardCall &c) { c.args.score.softmax_scale = &kInfinity; },
     kInvalid,
     {"softmax_scale:", "finite", "inf"}},
    {"causal 2", [](ForwardCall &c) { c.args.score.causal = 2; }, kInvalid, {"causal:", "0", "1", "2"}},
    {"align 7",
     [](ForwardCall &c) { c.args.score.align = static_cast<flashwright_align>(7); },
     kInvalid,
     {"align:", "7"}},
    {"align -1",
     [](ForwardCall &c) { c.args.score.align = static_cast<flashwright_align>(-1); },
     kInvalid,
     {"align:", "-1"}},
    {"align and diagonal",
     [](ForwardCall &c) { c.args.score.align = FLASHWRIGHT_ALIGN_TOP_LEFT, c.args.score.diagonal = &kDiagonal; },
     kInvalid,
     {"align:", "diagonal"}},
    {"window_left -2", [](ForwardCall &c) { c.args.score.window_left = -2; }, kInvalid, {"window_left:", "-1", "-2"}},
    {"window_right -7",
     [](ForwardCall &c) { c.args.score.window_right = -7; },
     kInvalid,
     {"window_right:", "-1", "-7"}},
    {"softcap negative", [](ForwardCall &c) { c.args.score.softcap = -3; }, kInvalid, {"softcap:", "-3"}},
    {"softcap NaN", [](ForwardCall &c) { c.args.score.softcap = kNaN; }, kInvalid, {"softcap:", "nan"}},
    {"softcap infinite", [](ForwardCall &c) { c.args.score.softcap = kInfinity; }, kInvalid, {"softcap:", "inf"}},
    {"key length negative",
     [](ForwardCall &c) { c.problem.key_lengths.set({1}, -1); },
     kInvalid,
     {"key_lengths", "20", "-1"}},
    {"key length too long",
     [](ForwardCall &c) { c.problem.key_lengths.set({0}, 21); },
     kInvalid,
     {"key_lengths", "20", "21"}},
    // execution
    {"threads negative", [](ForwardCall &c) { c.execution.threads = -1; }, kInvalid, {"threads:", "-1"}},
    {"threads without end", [](ForwardCall &c) { c.execution.threads = 1025; }, kInvalid, {"threads:", "1024", "1025"}},
    {"isa unknown",
     [](ForwardCall &c) { c.execution.isa = "avx3"; },
     kInvalid,
     {"isa:", flashwright_isa(0).name, "avx3"}},
    {"isa empty", [](ForwardCall &c) { c.execution.isa = ""; }, kInvalid, {"isa:", flashwright_isa(0).name}},
    {"kernel unknown",
     [](ForwardCall &c) { c.execution.kernel = "forward_f32_pentium_v0"; },
     kInvalid,
     {"kernel:", "forward_f32_pentium_v0"}},
    {"kernel of merge",
     [](ForwardCall &c) { c.execution.kernel = plainest_kernel("merge"); },
     kInvalid,
     {"kernel:", "forward", plainest_kernel("merge")}},
    {"kernel of f64",
     [](ForwardCall &c) { c.execution.kernel = plainest_kernel("forward", FLASHWRIGHT_F64, true); },
     kInvalid,
     {"kernel:", "f32", plainest_kernel("forward", FLASHWRIGHT_F64, true)}},
    {"kernel without the terms",
     [](ForwardCall &c) { c.execution.kernel = plainest_kernel("forward"); },
     kUnsupported,
     {"kernel:", plainest_kernel("forward")}},
    {"kernel and key_block",
     [](ForwardCall
            &c) { c.execution.kernel = plainest_kernel("forward", FLASHWRIGHT_F32, true), c.execution.key_block = 4; },
     kInvalid,
     {"key_block:", "kernel", "4"}},
    {"key_block negative", [](ForwardCall &c) { c.execution.key_block = -4; }, kInvalid, {"key_block:", "-4"}},
    {"allocate alone",
     [](ForwardCall &c) { c.execution.allocate = [](void *, std::size_t, std::size_t) -> void * { return nullptr; }; },
     kInvalid,
     {"deallocate:", "allocate"}},
    {"deallocate alone",
     [](ForwardCall &c) { c.execution.deallocate = [](void *, void *, std::size_t) {}; },
     kInvalid,
     {"allocate:", "deallocate"}},
};

}  // namespace

TEST(ForwardErrors, TheCallToBeSpoiledIsRight) {
    ForwardCall call;
    EXPECT_TRUE(is_ok(flashwright_forward(&call.args, &call.execution)));
    EXPECT_TRUE(outputs_match(call.problem, reference_forward(call.problem)));
}

TEST(ForwardErrors, Table) {
    for (const WrongForward &wrong : kWrongForward) {
        SCOPED_TRACE(wrong.name);
        ForwardCall call;
        wrong.spoil(call);
        expect_message(flashwright_forward(&call.args, &call.execution), wrong.code, wrong.message);
        EXPECT_TRUE(call.problem.outputs_untouched());
    }
}

TEST(ForwardErrors, NullArguments) {
    const flashwright_execution execution{};
    expect_message(flashwright_forward(nullptr, &execution), kInvalid, {"args", "NULL"});
    std::int32_t kernel = 5;
    expect_message(flashwright_forward_choice(nullptr, nullptr, &kernel, nullptr, 0), kInvalid, {"args", "NULL"});
    expect_message(flashwright_merge(nullptr, nullptr), kInvalid, {"args", "NULL"});
    expect_message(flashwright_online_softmax_step(nullptr, nullptr), kInvalid, {"args", "NULL"});
    flashwright_forward_args_init(nullptr);
}

TEST(ForwardErrors, ChoiceNeedsNoData) {
    ForwardCall call;
    for (flashwright_tensor *tensor :
         {&call.args.q, &call.args.k, &call.args.v, &call.args.out, &call.bias, &call.key_lengths})
        tensor->data = nullptr;
    std::int32_t kernel = -1;
    EXPECT_TRUE(is_ok(flashwright_forward_choice(&call.args, nullptr, &kernel, nullptr, 0)));
    EXPECT_GE(kernel, 0);
    EXPECT_TRUE(is_ok(flashwright_forward_choice(&call.args, nullptr, nullptr, nullptr, 0)));
}

TEST(ForwardErrors, ChoiceReportsTheSame) {
    for (const char *isa : {"avx3", ""}) {
        ForwardCall call;
        call.execution.isa = isa;
        std::int32_t kernel = 5;
        expect_message(flashwright_forward_choice(&call.args, &call.execution, &kernel, nullptr, 0), kInvalid,
                       {"isa:"});
        EXPECT_EQ(kernel, -1);
    }
}

TEST(ForwardErrors, KernelOfAnotherIsa) {
    if (flashwright_isa_count() < 2) GTEST_SKIP() << "this architecture has one ISA";
    ForwardCall call;
    call.execution.kernel = plainest_kernel("forward", FLASHWRIGHT_F32, true);
    call.execution.isa = flashwright_isa(1).name;
    expect_message(flashwright_forward(&call.args, &call.execution), kInvalid, {"kernel", "isa", call.execution.isa});
}

// A message longer than its place is cut, not written past it.
TEST(ForwardErrors, LongNamesAreCut) {
    const std::string name(5000, 'x');
    ForwardCall call;
    call.execution.kernel = name.c_str();
    const flashwright_status status = flashwright_forward(&call.args, &call.execution);
    EXPECT_EQ(status.code, kInvalid);
    EXPECT_LT(std::string(status.message).size(), sizeof status.message);
    EXPECT_TRUE(call.problem.outputs_untouched());
}

// Outputs that interleave without sharing an element are allowed.
TEST(ForwardErrors, InterleavedViewsAreNoOverlap) {
    Problem p(FLASHWRIGHT_F32, {1, 1, 1, 4, 16, 8, 8});
    Tensor both(FLASHWRIGHT_F32, {1, 1, 4, 24});
    const std::vector<double> q = p.q.values();
    for (std::int64_t i = 0; i < 4; i++)
        for (std::int64_t c = 0; c < 8; c++) both.set({0, 0, i, c}, q[static_cast<std::size_t>(i * 8 + c)]);
    flashwright_forward_args args = p.args();
    args.q = args.out = both.view();
    args.q.shape[3] = args.out.shape[3] = 8;
    args.out.data = floats(args.out) + 8;
    const ReferenceAttention expected = reference_forward(p);
    ASSERT_TRUE(is_ok(flashwright_forward(&args, nullptr)));
    for (std::int64_t i = 0; i < 4; i++) {
        for (std::int64_t c = 0; c < 8; c++) {
            EXPECT_EQ(both.get({0, 0, i, c}), q[static_cast<std::size_t>(i * 8 + c)]);
            EXPECT_NEAR(both.get({0, 0, i, 8 + c}), expected.out[static_cast<std::size_t>(i * 8 + c)],
                        forward_tolerance(FLASHWRIGHT_F32));
        }
    }
}

}  // namespace flashwright::test
