// How a call is carried out: a caller's pool and memory, and calls from several threads.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "tests/support/check.h"
#include "tests/support/gradient.h"

namespace flashwright::test {

namespace {

// A caller's pool that runs tasks last to first, on threads of its own.
struct ReversedPool {
    static void parallel_for(void *context, std::int64_t count, void (*task)(void *, std::int64_t),
                             void *task_context) {
        auto &pool = *static_cast<ReversedPool *>(context);
        EXPECT_LE(count, pool.threads);
        for (std::int64_t index = count; index-- > 0;) {
            std::thread([&] { task(task_context, index); }).join();
            pool.tasks++;
        }
    }
    int threads = 1;
    std::int64_t tasks = 0;
};

// Runs all tasks at once, each on its own thread.
void all_at_once(void *, std::int64_t count, void (*task)(void *, std::int64_t), void *task_context) {
    std::vector<std::thread> threads;
    for (std::int64_t index = 0; index < count; index++) threads.emplace_back([=] { task(task_context, index); });
    for (std::thread &thread : threads) thread.join();
}

// A caller's memory that counts, checks and at the n-th call fails.
struct CountingMemory {
    static void *allocate(void *context, std::size_t bytes, std::size_t alignment) {
        auto &memory = *static_cast<CountingMemory *>(context);
        const std::lock_guard<std::mutex> lock(memory.mutex);
        EXPECT_GT(alignment, 0u);
        EXPECT_LE(alignment, 128u);
        EXPECT_EQ(alignment & (alignment - 1), 0u);
        if (memory.allocations++ == memory.fail_at) return nullptr;
        void *block = std::aligned_alloc(std::max<std::size_t>(alignment, 16), (bytes + 255) / 128 * 128);
        memory.blocks[block] = bytes;
        memory.live += bytes, memory.peak = std::max(memory.peak, memory.live);
        return block;
    }
    static void deallocate(void *context, void *block, std::size_t bytes) {
        auto &memory = *static_cast<CountingMemory *>(context);
        const std::lock_guard<std::mutex> lock(memory.mutex);
        EXPECT_EQ(memory.blocks.count(block), 1u);
        EXPECT_EQ(memory.blocks[block], bytes);
        memory.live -= memory.blocks[block];
        memory.blocks.erase(block);
        std::free(block);
    }
    flashwright_execution execution(int threads) {
        flashwright_execution execution = with_threads(threads);
        execution.allocate = allocate, execution.deallocate = deallocate, execution.memory_context = this;
        return execution;
    }
    std::mutex mutex;
    std::map<void *, std::size_t> blocks;
    std::size_t live = 0, peak = 0;
    int allocations = 0, fail_at = -1;
};

}  // namespace

TEST(CallersPool, AnyOrderAndThreadGivesTheSameBytes) {
    Problem p(FLASHWRIGHT_F32, {2, 3, 3, 130, 70, 24, 24}, busy_options());
    ASSERT_TRUE(is_ok(run(p, with_threads(1))));
    const std::string expected = p.output_bytes();
    for (int threads : {1, 2, 5}) {
        ReversedPool pool;
        pool.threads = threads;
        flashwright_execution execution = with_threads(threads);
        execution.parallel_for = ReversedPool::parallel_for, execution.pool_context = &pool;
        ASSERT_TRUE(is_ok(run(p, execution)));
        EXPECT_TRUE(p.output_bytes() == expected);
        EXPECT_GT(pool.tasks, 0);
        execution.parallel_for = all_at_once, execution.pool_context = nullptr;
        ASSERT_TRUE(is_ok(run(p, execution)));
        EXPECT_TRUE(p.output_bytes() == expected);
    }
}

TEST(CallersMemory, IsUsedAndGivenBack) {
    Problem p(FLASHWRIGHT_F32, {2, 3, 3, 130, 70, 24, 24}, busy_options());
    ASSERT_TRUE(is_ok(run(p, with_threads(1))));
    const std::string expected = p.output_bytes();
    for (int threads : {1, 2, 3, 7}) {
        CountingMemory memory;
        ASSERT_TRUE(is_ok(run(p, memory.execution(threads))));
        EXPECT_GT(memory.allocations, 0);
        EXPECT_EQ(memory.live, 0u);
        EXPECT_TRUE(memory.blocks.empty());
        EXPECT_TRUE(p.output_bytes() == expected);
    }
}

TEST(CallersMemory, FailureAtAnyCallIsAnErrorAndWritesNothing) {
    Problem p(FLASHWRIGHT_F64, {2, 2, 1, 50, 70, 24, 24}, busy_options());
    for (int threads : {1, 3}) {
        CountingMemory whole;
        ASSERT_TRUE(is_ok(run(p, whole.execution(threads))));
        for (int n = 0; n < whole.allocations; n++) {
            CountingMemory memory;
            memory.fail_at = n;
            const flashwright_status status = run(p, memory.execution(threads));
            EXPECT_EQ(status.code, FLASHWRIGHT_OUT_OF_MEMORY) << "allocation " << n << ": " << status.message;
            EXPECT_NE(std::string(status.message), "");
            EXPECT_TRUE(p.outputs_untouched()) << "allocation " << n;
            EXPECT_EQ(memory.live, 0u) << "allocation " << n;
        }
    }
}

namespace {

// A call must use the caller's memory, give it back, and fail with nothing written where any allocation fails.
template <typename Call>
void expect_caller_memory(std::vector<Tensor *> outputs, Call call) {
    CountingMemory whole;
    ASSERT_TRUE(is_ok(call(whole.execution(2))));
    EXPECT_EQ(whole.live, 0u);
    EXPECT_GT(whole.allocations, 0);
    for (int n = 0; n < whole.allocations; n++) {
        CountingMemory memory;
        memory.fail_at = n;
        for (Tensor *output : outputs) output->poison();
        EXPECT_EQ(call(memory.execution(2)).code, FLASHWRIGHT_OUT_OF_MEMORY);
        for (const Tensor *output : outputs) EXPECT_TRUE(output->untouched());
        EXPECT_EQ(memory.live, 0u);
    }
}

}  // namespace

TEST(CallersMemory, MergeUsesItToo) {
    const std::vector<std::int64_t> shape = {1, 2, 40, 20}, rows = {1, 2, 40};
    Tensor out_a(FLASHWRIGHT_F32, shape), out_b(FLASHWRIGHT_F32, shape), out(FLASHWRIGHT_F32, shape);
    Tensor lse_a(FLASHWRIGHT_F32, rows), lse_b(FLASHWRIGHT_F32, rows), lse(FLASHWRIGHT_F32, rows);
    fill_g(out_a, 1), fill_g(out_b, 2), fill_g(lse_a, 3), fill_g(lse_b, 4);
    const flashwright_merge_args args{out_a.view(), lse_a.view(), out_b.view(), lse_b.view(), out.view(), lse.view()};
    expect_caller_memory({&out, &lse},
                         [&](const flashwright_execution &execution) { return flashwright_merge(&args, &execution); });
}

TEST(CallersMemory, StepUsesItToo) {
    const std::vector<std::int64_t> rows = {1, 2, 40}, of_acc = {1, 2, 40, 20};
    Tensor scores(FLASHWRIGHT_F32, {1, 2, 40, 30}), v(FLASHWRIGHT_F32, {1, 2, 30, 20});
    Tensor m(FLASHWRIGHT_F32, rows), l(FLASHWRIGHT_F32, rows), acc(FLASHWRIGHT_F32, of_acc);
    Tensor m_out(FLASHWRIGHT_F32, rows), l_out(FLASHWRIGHT_F32, rows), acc_out(FLASHWRIGHT_F32, of_acc);
    fill_g(scores, 1), fill_g(v, 2), fill_g(m, 3), fill_g(acc, 4);
    l.assign([](std::int64_t) { return 1.0; });
    flashwright_step_args args{};
    args.scores = scores.view(), args.v = v.view();
    args.m = m.view(), args.l = l.view(), args.acc = acc.view();
    args.m_out = m_out.view(), args.l_out = l_out.view(), args.acc_out = acc_out.view();
    expect_caller_memory({&m_out, &l_out, &acc_out}, [&](const flashwright_execution &execution) {
        return flashwright_online_softmax_step(&args, &execution);
    });
}

namespace {

// `call(execution)` must name the kernel `expected`, and on an error leave the name alone. Without `kernel_used` it
// must work too.
template <typename Call>
void expect_kernel_used(const std::string &expected, Call call) {
    const char *const before = "before";
    const char *used = before;
    flashwright_execution execution = with_threads(-1);
    execution.kernel_used = &used;
    EXPECT_EQ(call(execution).code, FLASHWRIGHT_INVALID_ARGUMENT);
    EXPECT_EQ(used, before);
    CountingMemory no_memory;
    no_memory.fail_at = 0;
    execution = no_memory.execution(1);
    execution.kernel_used = &used;
    EXPECT_EQ(call(execution).code, FLASHWRIGHT_OUT_OF_MEMORY);
    EXPECT_EQ(used, before);
    execution = with_threads(2);
    EXPECT_TRUE(is_ok(call(execution)));
    EXPECT_EQ(used, before);
    execution.kernel_used = &used;
    ASSERT_TRUE(is_ok(call(execution)));
    EXPECT_EQ(used, expected);
}

// The f32 kernel of the instruction set that calls use.
std::string first_kernel(const std::string &op) {
    for (std::int32_t i = 0; i < flashwright_isa_count(); i++) {
        if (!flashwright_isa(i).chosen) continue;
        for (const KernelCase &kernel : runnable_kernels(op))
            if (kernel.dtype == FLASHWRIGHT_F32 && kernel.isa == flashwright_isa(i).name) return kernel.name;
    }
    return "";
}

// The kernel that flashwright_forward_choice or flashwright_backward_choice names.
template <typename Args, typename Choice>
std::string chosen(const Args &args, const flashwright_execution &execution, Choice choice) {
    std::int32_t index = -1;
    EXPECT_TRUE(is_ok(choice(&args, &execution, &index, nullptr, 0)));
    return index < 0 ? "" : flashwright_kernel(index).name;
}

}  // namespace

TEST(KernelUsed, ForwardNamesTheChosenKernel) {
    for (const flashwright_dtype dtype : {FLASHWRIGHT_F32, FLASHWRIGHT_F64}) {
        for (const std::int64_t rows : {1, 3, 40, 130}) {
            Problem p(dtype, {1, 4, 1, rows, 70, 64, 64});
            const flashwright_forward_args args = p.args();
            expect_kernel_used(chosen(args, {}, flashwright_forward_choice),
                               [&](const flashwright_execution &how) { return flashwright_forward(&args, &how); });
        }
    }
}

TEST(KernelUsed, ForwardNamesTheKernelThatWasForced) {
    Problem p(FLASHWRIGHT_F32, {1, 2, 2, 20, 30, 16, 16});
    const flashwright_forward_args args = p.args();
    flashwright_execution execution = with_key_block(5);
    const std::string expected = chosen(args, execution, flashwright_forward_choice);
    const char *used = nullptr;
    execution.kernel_used = &used;
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &execution)));
    ASSERT_NE(used, nullptr);
    EXPECT_EQ(used, expected);
    execution = with_kernel(expected.c_str());
    used = nullptr;
    execution.kernel_used = &used;
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &execution)));
    ASSERT_NE(used, nullptr);
    EXPECT_EQ(used, expected);
}

TEST(KernelUsed, ForwardWithoutRowsNamesAKernelToo) {
    Problem p(FLASHWRIGHT_F32, {1, 2, 2, 0, 30, 16, 16});
    const flashwright_forward_args args = p.args();
    flashwright_execution execution{};
    const char *used = nullptr;
    execution.kernel_used = &used;
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &execution)));
    ASSERT_NE(used, nullptr);
    EXPECT_EQ(used, chosen(args, {}, flashwright_forward_choice));
}

TEST(KernelUsed, BackwardNamesTheChosenKernel) {
    GradientProblem p(FLASHWRIGHT_F32, {1, 2, 1, 40, 70, 24, 24});
    ASSERT_TRUE(is_ok(run(p)));
    const flashwright_backward_args args = p.args();
    expect_kernel_used(chosen(args, {}, flashwright_backward_choice),
                       [&](const flashwright_execution &how) { return flashwright_backward(&args, &how); });
}

TEST(KernelUsed, MergeAndStepNameKernelsOfTheirOp) {
    const std::vector<std::int64_t> shape = {1, 2, 40, 20}, rows = {1, 2, 40};
    Tensor out_a(FLASHWRIGHT_F32, shape), out_b(FLASHWRIGHT_F32, shape), out(FLASHWRIGHT_F32, shape);
    Tensor lse_a(FLASHWRIGHT_F32, rows), lse_b(FLASHWRIGHT_F32, rows), lse(FLASHWRIGHT_F32, rows);
    fill_g(out_a, 1), fill_g(out_b, 2), fill_g(lse_a, 3), fill_g(lse_b, 4);
    const flashwright_merge_args merge{out_a.view(), lse_a.view(), out_b.view(), lse_b.view(), out.view(), lse.view()};
    Tensor scores(FLASHWRIGHT_F32, {1, 2, 40, 30}), v(FLASHWRIGHT_F32, {1, 2, 30, 20});
    fill_g(scores, 5), fill_g(v, 6);
    // State of before and after the step: m and l as lse, acc as out.
    const flashwright_step_args step{lse_a.view(), lse_b.view(), out_a.view(), scores.view(),
                                     v.view(),     lse.view(),   lse_b.view(), out.view()};
    expect_kernel_used(first_kernel("merge"),
                       [&](const flashwright_execution &how) { return flashwright_merge(&merge, &how); });
    expect_kernel_used(first_kernel("step"),
                       [&](const flashwright_execution &how) { return flashwright_online_softmax_step(&step, &how); });
}

TEST(Threads, CallsFromSeveralThreadsAtOnce) {
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int n = 0; n < 4; n++) {
        callers.emplace_back([&wrong, n] {
            Problem p(n % 2 ? FLASHWRIGHT_F64 : FLASHWRIGHT_F32, {1, 2, 1, 40 + n, 60 + n, 16, 16}, busy_options());
            const ReferenceAttention expected = reference_forward(p);
            for (int repeat = 0; repeat < 10; repeat++)
                if (run(p, with_threads(1 + repeat % 3)).code != FLASHWRIGHT_OK || !outputs_match(p, expected)) wrong++;
        });
    }
    for (std::thread &caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace flashwright::test
