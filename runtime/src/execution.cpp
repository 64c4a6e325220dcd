#include "execution.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "platform.h"
#include "status.h"
#include "thread_pool.h"

namespace flashwright {
namespace {

constexpr int kMaxThreads = 1024;
// So many tasks that one delayed thread does not delay the call.
constexpr std::int64_t kTasksPerThread = 8;
// Waking a thread takes about ten microseconds. This is about the number of operations of a core in that time.
constexpr double kOperationsPerThread = 4e5;

}  // namespace

flashwright_status validate_execution(const flashwright_execution *given, flashwright_execution *execution) {
    *execution = given != nullptr ? *given : flashwright_execution{};
    if (execution->threads < 0 || execution->threads > kMaxThreads) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "threads: expected 0 (default) to %d, got %d", kMaxThreads,
                           execution->threads);
    }
    if (execution->threads == 0) {
        execution->threads = flashwright_default_threads();
        if (execution->threads == 0) {
            const char *text = std::getenv("FLASHWRIGHT_THREADS");
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "environment variable FLASHWRIGHT_THREADS: expected a number from 1 to %d, got '%s'",
                               kMaxThreads, text != nullptr ? text : "");
        }
    }
    if (execution->key_block < 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "key_block: expected 0 (the kernel's own) or more, got %" PRId64, execution->key_block);
    }
    if (execution->key_block > 0 && execution->kernel != nullptr) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "key_block: expected 0 when kernel is given (%s), got %" PRId64, execution->kernel,
                           execution->key_block);
    }
    if ((execution->allocate == nullptr) != (execution->deallocate == nullptr)) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected a function, since %s is given, got NULL",
                           execution->allocate == nullptr ? "allocate" : "deallocate",
                           execution->allocate == nullptr ? "deallocate" : "allocate");
    }
    return ok_status();
}

TaskGrid::TaskGrid(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t block_q,
                   std::int64_t threads)
    : heads_(heads), tiles_((rows + block_q - 1) / block_q), tiles_per_task_(1), tasks_per_head_(0), count_(0) {
    if (batch == 0 || heads == 0 || rows == 0) return;
    const std::int64_t all = batch * heads * tiles_;
    tiles_per_task_ = std::clamp<std::int64_t>(all / (threads * kTasksPerThread), 1, tiles_);
    tasks_per_head_ = (tiles_ + tiles_per_task_ - 1) / tiles_per_task_;
    count_ = batch * heads * tasks_per_head_;
}

RowTask TaskGrid::task(std::int64_t index) const {
    const std::int64_t row = index / tasks_per_head_, run = tasks_per_head_ - 1 - index % tasks_per_head_;
    const std::int64_t begin = run * tiles_per_task_;
    return {row / heads_, row % heads_, begin, std::min(tiles_, begin + tiles_per_task_)};
}

std::int64_t useful_workers(std::int64_t threads, std::int64_t tasks, double operations) {
    const auto worthwhile = static_cast<std::int64_t>(std::min(operations / kOperationsPerThread, 1e6));
    return std::max<std::int64_t>(1, std::min({threads, tasks, worthwhile}));
}

void run_workers(const flashwright_execution &execution, std::int64_t workers,
                 void (*work)(void *context, std::int64_t worker), void *context) {
    if (execution.parallel_for != nullptr) {
        execution.parallel_for(execution.pool_context, workers, work, context);
    } else {
        run_on_threads(workers, work, context);
    }
}

}  // namespace flashwright

int32_t flashwright_default_threads() {
    static const int threads = [] {
        const char *text = std::getenv("FLASHWRIGHT_THREADS");
        if (text == nullptr || text[0] == '\0')
            return std::min(flashwright::usable_processors(), flashwright::kMaxThreads);
        char *end = nullptr;
        const long value = std::strtol(text, &end, 10);
        return *end == '\0' && value >= 1 && value <= flashwright::kMaxThreads ? static_cast<int>(value) : 0;
    }();
    return threads;
}
