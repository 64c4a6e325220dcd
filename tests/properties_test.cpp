// What must hold between calls: the same bytes whoever computes them, the same result however keys are arranged.
#include "support/kernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

namespace flashwright::test {

namespace {

Options busy_options() {
    Options o;
    o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    o.key_fractions = {0.8, 1};
    return o;
}

std::string output_bytes(const Problem &problem) {
    return problem.out.bytes() + problem.lse.bytes();
}

}  // namespace

class Properties : public KernelTest {
 protected:
    Problem problem(const Options &options = {}) const {
        return Problem(GetParam().dtype, fitting({2, 3, 3, 130, 257, 40, 40}), options);
    }
    flashwright_execution execution() const { return with_kernel(GetParam().name.c_str()); }
};

// Case 13.
TEST_P(Properties, SameBytesForAnyThreads) {
    for (const Options &options : {Options{}, busy_options()}) {
        Problem p = problem(options);
        std::atomic<bool> stop{false};
        std::thread load([&] {
            for (volatile int n = 0; !stop; n = n + 1) {
            }
        });
        flashwright_execution once = execution();
        once.threads = 1;
        EXPECT_TRUE(is_ok(run(p, once)));
        const std::string expected = output_bytes(p);
        for (int n = 0; n < 20; n++) {
            const int threads[] = {1, 2, 3, 7};
            once.threads = threads[n % 4];
            EXPECT_TRUE(is_ok(run(p, once)));
            EXPECT_TRUE(output_bytes(p) == expected) << once.threads << " threads";
        }
        stop = true;
        load.join();
    }
}

TEST_P(Properties, SameBytesAnywhereInTheBatch) {
    Options options = busy_options();
    options.key_fractions = {};
    Problem p = problem(options);
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string out = p.out.bytes(), lse = p.lse.bytes();
    for (std::int64_t b = 0; b < 2; b++) {
        for (std::int64_t h = 0; h < 3; h++) {
            Problem one(p.dtype, {1, 1, 1, p.shape.seqlen_q, p.shape.seqlen_k, p.shape.head_dim, p.shape.head_dim_v}, options);
            for (auto [to, from] : {std::pair{&one.q, &p.q}, {&one.k, &p.k}, {&one.v, &p.v}})
                for (std::int64_t i = 0; i < to->shape()[2]; i++)
                    for (std::int64_t c = 0; c < to->shape()[3]; c++) to->set({0, 0, i, c}, from->get({b, h, i, c}));
            ASSERT_TRUE(is_ok(run(one, execution())));
            const auto place = static_cast<std::size_t>(b * 3 + h);
            EXPECT_TRUE(out.compare(place * one.out.bytes().size(), one.out.bytes().size(), one.out.bytes()) == 0);
            EXPECT_TRUE(lse.compare(place * one.lse.bytes().size(), one.lse.bytes().size(), one.lse.bytes()) == 0);
        }
    }
}

TEST_P(Properties, WithoutLseTheSameBytes) {
    Problem p = problem(busy_options());
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string expected = p.out.bytes();
    p.poison_outputs();
    flashwright_forward_args args = p.args();
    args.softmax_lse = {};
    const flashwright_execution with = execution();
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &with)));
    EXPECT_TRUE(p.out.bytes() == expected);
    EXPECT_TRUE(p.lse.untouched());
}

TEST_P(Properties, LowerRanks) {
    Problem p(GetParam().dtype, fitting({1, 3, 3, 9, 30, 8, 8}));
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string expected = output_bytes(p);
    flashwright_forward_args args = p.args();
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse}) {
        tensor->rank--;
        for (int axis = 0; axis < tensor->rank; axis++)
            tensor->shape[axis] = tensor->shape[axis + 1], tensor->strides[axis] = tensor->strides[axis + 1];
    }
    p.poison_outputs();
    const flashwright_execution with = execution();
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &with)));
    EXPECT_TRUE(output_bytes(p) == expected);
}

TEST_P(Properties, PermutedKeys) {
    Problem p(GetParam().dtype, fitting({1, 2, 1, 33, 131, 16, 32}));
    const Exact exact = exact_forward(p);
    const std::int64_t keys = p.shape.seqlen_k;
    for (Tensor *tensor : {&p.k, &p.v}) {
        const std::vector<double> values = tensor->values();
        const std::int64_t channels = tensor->shape()[3];
        tensor->assign([&](std::int64_t n) {
            const std::int64_t j = n / channels % keys;
            return values[static_cast<std::size_t>(n + (j * 57 % keys - j) * channels)];  // 57 and 131 share no factor
        });
    }
    ASSERT_TRUE(is_ok(run(p, execution())));
    EXPECT_TRUE(outputs_match(p, exact));
}

TEST_P(Properties, ConstantAddedToAllScores) {
    Options options;
    options.bias = Coverage{false, false, false};
    for (double constant : {0.0, 16.0, -64.0}) {
        Problem p(GetParam().dtype, fitting({1, 2, 1, 19, 70, 16, 32}), options);
        p.bias.assign([=](std::int64_t) { return constant; });
        Problem plain(GetParam().dtype, p.shape);
        Exact exact = exact_forward(plain);
        for (double &lse : exact.lse) lse += constant;
        ASSERT_TRUE(is_ok(run(p, execution_for(p))));
        EXPECT_TRUE(outputs_match(p, exact)) << constant;
    }
}

// Inputs may overlap each other.
TEST_P(Properties, InputsMayBeTheSameTensor) {
    Problem p(GetParam().dtype, fitting({1, 2, 2, 64, 64, 64, 64}));
    p.q = p.k = p.v;
    check(p);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Properties, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

TEST(KeyBlock, AnySizeGivesTheSame) {
    for (flashwright_dtype dtype : {FLASHWRIGHT_F32, FLASHWRIGHT_F64}) {
        Options options = busy_options();
        options.softcap = 3, options.window_left = 30, options.alibi = true;
        for (const Options &o : {Options{}, options}) {
            Problem p(dtype, {2, 2, 1, 13, 83, 9, 11}, o);
            const Exact exact = exact_forward(p);
            for (std::int64_t block : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17, 31, 64, 82, 83, 84, 200, 1 << 30}) {
                ASSERT_TRUE(is_ok(run(p, with_key_block(block))));
                EXPECT_TRUE(outputs_match(p, exact)) << block << " keys a block: " << p.describe();
            }
            ASSERT_TRUE(is_ok(run(p, with_key_block(std::int64_t{1} << 62))));
            EXPECT_TRUE(outputs_match(p, exact));
        }
    }
}

namespace {

// A caller's pool that runs tasks last to first, on threads of its own.
struct ReversedPool {
    static void parallel_for(void *context, std::int64_t count, void (*task)(void *, std::int64_t), void *task_context) {
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
    const std::string expected = output_bytes(p);
    for (int threads : {1, 2, 5}) {
        ReversedPool pool;
        pool.threads = threads;
        flashwright_execution execution = with_threads(threads);
        execution.parallel_for = ReversedPool::parallel_for, execution.pool_context = &pool;
        ASSERT_TRUE(is_ok(run(p, execution)));
        EXPECT_TRUE(output_bytes(p) == expected);
        EXPECT_GT(pool.tasks, 0);
        execution.parallel_for = all_at_once, execution.pool_context = nullptr;
        ASSERT_TRUE(is_ok(run(p, execution)));
        EXPECT_TRUE(output_bytes(p) == expected);
    }
}

TEST(CallersMemory, IsUsedAndGivenBack) {
    Problem p(FLASHWRIGHT_F32, {2, 3, 3, 130, 70, 24, 24}, busy_options());
    ASSERT_TRUE(is_ok(run(p, with_threads(1))));
    const std::string expected = output_bytes(p);
    for (int threads : {1, 2, 3, 7}) {
        CountingMemory memory;
        ASSERT_TRUE(is_ok(run(p, memory.execution(threads))));
        EXPECT_GT(memory.allocations, 0);
        EXPECT_EQ(memory.live, 0u);
        EXPECT_TRUE(memory.blocks.empty());
        EXPECT_TRUE(output_bytes(p) == expected);
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

TEST(CallersMemory, MergeAndStepUseItToo) {
    const std::vector<std::int64_t> shape = {1, 2, 40, 20}, rows = {1, 2, 40};
    Tensor out_a(FLASHWRIGHT_F32, shape), out_b(FLASHWRIGHT_F32, shape), out(FLASHWRIGHT_F32, shape);
    Tensor lse_a(FLASHWRIGHT_F32, rows), lse_b(FLASHWRIGHT_F32, rows), lse(FLASHWRIGHT_F32, rows);
    fill_g(out_a, 1), fill_g(out_b, 2), fill_g(lse_a, 3), fill_g(lse_b, 4);
    const flashwright_merge_args args{out_a.view(), lse_a.view(), out_b.view(), lse_b.view(), out.view(), lse.view()};
    CountingMemory whole;
    flashwright_execution execution = whole.execution(2);
    ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
    EXPECT_EQ(whole.live, 0u);
    for (int n = 0; n < whole.allocations; n++) {
        CountingMemory memory;
        memory.fail_at = n;
        out.poison(), lse.poison();
        execution = memory.execution(2);
        EXPECT_EQ(flashwright_merge(&args, &execution).code, FLASHWRIGHT_OUT_OF_MEMORY);
        EXPECT_TRUE(out.untouched() && lse.untouched());
        EXPECT_EQ(memory.live, 0u);
    }
}

TEST(Threads, CallsFromSeveralThreadsAtOnce) {
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int n = 0; n < 4; n++) {
        callers.emplace_back([&wrong, n] {
            Problem p(n % 2 ? FLASHWRIGHT_F64 : FLASHWRIGHT_F32, {1, 2, 1, 40 + n, 60 + n, 16, 16}, busy_options());
            const Exact exact = exact_forward(p);
            for (int repeat = 0; repeat < 10; repeat++)
                if (run(p, with_threads(1 + repeat % 3)).code != FLASHWRIGHT_OK || !outputs_match(p, exact)) wrong++;
        });
    }
    for (std::thread &caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace flashwright::test
