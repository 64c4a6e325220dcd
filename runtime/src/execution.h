// How a call runs: threads, memory and tasks.
#pragma once

#include "flashwright/flashwright.h"

#include <atomic>
#include <cstdint>

#include "scratch.h"

namespace flashwright {

// Checks what the caller gave and fills in defaults; `threads` is then at least 1.
flashwright_status validate_execution(const flashwright_execution *given, flashwright_execution *execution);

// One task: consecutive tiles of query rows of one head.
struct RowTask {
    std::int64_t batch, head, tile_begin, tile_end;
};

// The tasks of a call. The tasks of a head follow each other, so that its keys stay in the caches. Within a head, later
// rows come first, since they cost most with causal. The tiles depend only on the shape and block_q, so the results do
// not depend on the number of threads.
class TaskGrid {
 public:
    TaskGrid(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t block_q, std::int64_t threads);
    std::int64_t count() const { return count_; }
    RowTask task(std::int64_t index) const;

 private:
    std::int64_t heads_, tiles_, tiles_per_task_, tasks_per_head_, count_;
};

// The number of threads worth waking for `operations` floating-point operations in `tasks` tasks.
std::int64_t useful_workers(std::int64_t threads, std::int64_t tasks, double operations);

// Runs body(task, scratch) for every task, on the caller's thread pool or the library's.
template <typename Grid, typename Body>
class TaskRun {
 public:
    TaskRun(const Grid &grid, const ScratchReservation &scratch, const Body &body)
        : grid_(grid), scratch_(scratch), body_(body) {}

    static void work(void *context, std::int64_t worker) {
        auto *run = static_cast<TaskRun *>(context);
        Scratch scratch(run->scratch_.arena(worker), run->scratch_.bytes_per_worker());
        for (;;) {
            const std::int64_t index = run->next_.fetch_add(1, std::memory_order_relaxed);
            if (index >= run->grid_.count()) return;
            run->body_(run->grid_.task(index), scratch);
        }
    }

 private:
    const Grid &grid_;
    const ScratchReservation &scratch_;
    const Body &body_;
    std::atomic<std::int64_t> next_{0};
};

void run_workers(const flashwright_execution &execution, std::int64_t workers,
                 void (*work)(void *context, std::int64_t worker), void *context);

// Reserves scratch and runs all tasks. If the reservation fails, no task has run.
template <typename Grid, typename Body>
flashwright_status run_tasks(const flashwright_execution &execution, const Grid &grid, double operations,
                             std::uint64_t scratch_bytes, const Body &body) {
    const std::int64_t workers = useful_workers(execution.threads, grid.count(), operations);
    ScratchReservation scratch;
    if (grid.count() == 0) return flashwright_status{};
    const flashwright_status reserved = scratch.reserve(execution, workers, scratch_bytes);
    if (reserved.code != FLASHWRIGHT_OK) return reserved;
    TaskRun<Grid, Body> run(grid, scratch, body);
    run_workers(execution, workers, TaskRun<Grid, Body>::work, &run);
    return reserved;
}

}  // namespace flashwright
