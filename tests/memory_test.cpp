// What a call may take from the machine.
#include "tests/support/gradient.h"

#include "runtime/src/scratch.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace flashwright::test {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kShadowMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kShadowMemory = true;
#else
constexpr bool kShadowMemory = false;
#endif
#else
constexpr bool kShadowMemory = false;
#endif

std::size_t address_space_in_use() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Row i of the causal problem, by the definition.
double error_of_row(const Problem &p, std::int64_t i) {
    const auto count = static_cast<std::size_t>(i + 1);
    std::vector<double> scores(count);
    double top = -INFINITY, total = 0, worst = 0;
    for (std::size_t j = 0; j < count; j++) {
        for (std::int64_t c = 0; c < 64; c++)
            scores[j] += p.q.get({0, 0, i, c}) * p.k.get({0, 0, static_cast<std::int64_t>(j), c}) / 8;
        top = std::max(top, scores[j]);
    }
    for (double &score : scores) total += score = std::exp(score - top);
    for (std::int64_t c = 0; c < 64; c++) {
        double sum = 0;
        for (std::size_t j = 0; j < count; j++) sum += scores[j] * p.v.get({0, 0, static_cast<std::int64_t>(j), c});
        const double error = std::fabs(sum / total - p.out.get({0, 0, i, c}));
        if (!(error <= worst)) worst = error;  // NaN is an error too
    }
    return worst;
}

// In a process of its own: 0 when right.
int long_causal_call_under_a_limit(int threads) {
    constexpr std::size_t kAllowed = std::size_t{256} << 20;
    Options options;
    options.causal = true;
    const std::size_t before = address_space_in_use();
    Problem p(FLASHWRIGHT_F32, {1, 1, 1, 16384, 16384, 64, 64}, options);
    const std::size_t inputs = static_cast<std::size_t>(3 * p.q.count() + p.out.count() + p.lse.count()) * 4;
    const rlimit limit{before + inputs + kAllowed, before + inputs + kAllowed};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    const flashwright_status status = run(p, with_threads(threads));
    if (status.code != FLASHWRIGHT_OK) {
        fprintf(stderr, "%s\n", status.message);
        return 3;
    }
    for (std::int64_t i : {0, 1, 63, 64, 1000, 8191, 16383})
        if (!(error_of_row(p, i) <= forward_tolerance(FLASHWRIGHT_F32))) return 4;
    return 0;
}

// The same of backward. Every row of the gradients was written, dV's sum over the keys is dO's over the rows, and the
// sums of Q ∘ dQ and of K ∘ dK are the same: both are those of dS ∘ scores.
int long_backward_call_under_a_limit(int threads) {
    constexpr std::size_t kAllowed = std::size_t{256} << 20;
    const std::size_t before = address_space_in_use();
    GradientProblem p(FLASHWRIGHT_F32, {1, 1, 1, 16384, 16384, 64, 64});
    const std::size_t tensors = static_cast<std::size_t>(8 * p.dq.count() + p.forward.lse.count()) * 4;
    const rlimit limit{before + tensors + kAllowed, before + tensors + kAllowed};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    const flashwright_status status = run(p, with_threads(threads));
    if (status.code != FLASHWRIGHT_OK) {
        fprintf(stderr, "%s\n", status.message);
        return 3;
    }
    if (!p.dq.fully_written() || !p.dk.fully_written() || !p.dv.fully_written()) return 4;
    for (std::int64_t c : {0, 31, 63}) {
        double expected = 0, actual = 0, size = 0;
        for (std::int64_t i = 0; i < 16384; i++) {
            expected += p.dout.get({0, 0, i, c}), actual += p.dv.get({0, 0, i, c});
            size += std::fabs(p.dout.get({0, 0, i, c}));
        }
        if (!(std::fabs(expected - actual) <= forward_tolerance(FLASHWRIGHT_F32) * size)) return 5;
    }
    double by_queries = 0, by_keys = 0, size = 0;
    for (std::int64_t i = 0; i < 16384; i++)
        for (std::int64_t d = 0; d < 64; d++) {
            const double of_query = p.forward.q.get({0, 0, i, d}) * p.dq.get({0, 0, i, d});
            by_queries += of_query, size += std::fabs(of_query);
            by_keys += p.forward.k.get({0, 0, i, d}) * p.dk.get({0, 0, i, d});
        }
    if (!(std::fabs(by_queries - by_keys) <= 1e-4 * size)) return 6;
    return 0;
}

void expect_zero_in_a_child(int (*check)(int threads)) {
    if (kShadowMemory) GTEST_SKIP() << "the sanitizer's own memory exceeds the limit; the release preset runs this";
    for (int threads : {1, 2}) {
        const pid_t child = fork();
        ASSERT_NE(child, -1);
        if (child == 0) _exit(check(threads));
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), 0) << threads << " threads";
    }
}

}  // namespace

TEST(MemoryUse, LongCausalCallUnderALimit) { expect_zero_in_a_child(long_causal_call_under_a_limit); }

TEST(MemoryUse, LongBackwardCallUnderALimit) { expect_zero_in_a_child(long_backward_call_under_a_limit); }

// All of a call's memory comes from the caller's allocator, and it does not grow with the product of the lengths.
TEST(MemoryUse, ScratchDoesNotGrowWithTheLengths) {
    struct Sum {
        std::size_t bytes = 0;
    };
    std::size_t taken[2];
    for (int n = 0; n < 2; n++) {
        const std::int64_t length = n == 0 ? 2048 : 8192;
        Options options;
        options.window_left = 64, options.window_right = 0;
        Problem p(FLASHWRIGHT_F32, {1, 1, 1, length, length, 32, 32}, options);
        Sum sum;
        flashwright_execution execution = with_threads(2);
        execution.memory_context = &sum;
        execution.allocate = [](void *context, std::size_t bytes, std::size_t) -> void * {
            static_cast<Sum *>(context)->bytes += bytes;
            return std::aligned_alloc(128, (bytes + 127) / 128 * 128);
        };
        execution.deallocate = [](void *, void *block, std::size_t) { std::free(block); };
        ASSERT_TRUE(is_ok(run(p, execution)));
        taken[n] = sum.bytes;
    }
    EXPECT_LE(taken[1], taken[0] + (std::size_t{1} << 16));
    EXPECT_LT(taken[1], std::size_t{64} << 20);
}

namespace {

// In every test: no kernel asks for more scratch memory than was reserved for it.
class ScratchReservations : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo &) override { before_ = scratch_overflows(); }
    void OnTestEnd(const ::testing::TestInfo &) override {
        EXPECT_EQ(scratch_overflows(), before_) << "kernels needed scratch memory beyond the reservation";
    }
    std::uint64_t before_ = 0;
};

[[maybe_unused]] const bool kWatching = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new ScratchReservations);
    return true;
}();

}  // namespace

}  // namespace flashwright::test
