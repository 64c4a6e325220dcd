#include "thread_pool.h"

#include "platform.h"

#if FLASHWRIGHT_HAS_THREADS

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace flashwright {
namespace {

using Work = void (*)(void *context, std::int64_t worker);

class ThreadPool {
 public:
    ThreadPool() = default;
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;
    ~ThreadPool() { stop(); }

    // False if nothing was run, because another call uses the threads or there are none.
    bool run(std::int64_t workers, Work work, void *context) {
        if (busy_.exchange(1, std::memory_order_acquire)) return false;
        const std::int64_t helpers = start_threads(workers - 1);
        if (helpers > 0) {
            {
                const std::lock_guard lock(mutex_);
                work_ = work;
                context_ = context;
                wanted_ = helpers;
                next_worker_ = 1;
            }
            for (std::int64_t i = 0; i < helpers; ++i) wake_.notify_one();
            work(context, 0);
            std::unique_lock lock(mutex_);
            wanted_ = 0;  // threads that have not started by now are not needed
            done_.wait(lock, [this] { return active_ == 0; });
        }
        busy_.store(0, std::memory_order_release);
        return helpers > 0;
    }

    // Ends the threads. Later calls find none; a running call keeps its threads until it is done.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        wake_.notify_all();
        for (std::thread &thread : threads_) {
            if (thread.joinable()) thread.join();
        }
    }

 private:
    // Creates threads up to `count`. Returns their number, at most `count`.
    std::int64_t start_threads(std::int64_t count) {
        const std::lock_guard lock(mutex_);
        if (stopped_) return 0;
        if (static_cast<std::int64_t>(threads_.size()) < count) {
            const SignalsBlocked blocked;
            try {
                threads_.reserve(static_cast<std::size_t>(count));
                while (static_cast<std::int64_t>(threads_.size()) < count) threads_.emplace_back([this] { serve(); });
            } catch (const std::exception &) {
                // No more threads are available; those that exist do the work.
            }
        }
        return std::min(count, static_cast<std::int64_t>(threads_.size()));
    }

    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return wanted_ > 0 || stopped_; });
            if (wanted_ == 0) return;
            --wanted_;
            ++active_;
            const std::int64_t worker = next_worker_++;
            const Work work = work_;
            void *context = context_;
            lock.unlock();
            work(context, worker);
            lock.lock();
            if (--active_ == 0) done_.notify_one();
        }
    }

    std::atomic<int> busy_{0};  // a word: RISC-V has no exchange of a byte
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> threads_;
    Work work_ = nullptr;
    void *context_ = nullptr;
    std::int64_t wanted_ = 0, active_ = 0, next_worker_ = 0;
    bool stopped_ = false;
};

std::atomic<ThreadPool *> current_pool{nullptr};

// The child of a fork has only the thread that called fork. The pool's lock may be held by a thread that it does not
// have. So it leaves the old pool alone, reachable for leak checkers, and creates a new one when needed.
std::atomic<ThreadPool *> lost_pool{nullptr};
void forget_pool_in_child() {
    if (ThreadPool *pool = current_pool.exchange(nullptr)) lost_pool.store(pool);
}
[[maybe_unused]] const bool kForkHandlerSet = call_after_fork(forget_pool_in_child);

ThreadPool *pool() {
    ThreadPool *existing = current_pool.load(std::memory_order_acquire);
    if (existing != nullptr) return existing;
    auto *made = new (std::nothrow) ThreadPool;
    if (made == nullptr) return nullptr;
    if (current_pool.compare_exchange_strong(existing, made)) return made;
    delete made;
    return existing;
}

// Threads must not outlive the library's code when the program ends or unloads it. The pool object itself stays, since
// a destructor that runs later may still call the library.
struct PoolEnd {
    ~PoolEnd() {
        if (ThreadPool *last = current_pool.load()) last->stop();
    }
} pool_end;

}  // namespace

void run_on_threads(std::int64_t workers, Work work, void *context) {
    ThreadPool *threads = workers > 1 ? pool() : nullptr;
    if (threads == nullptr || !threads->run(workers, work, context)) work(context, 0);
}

}  // namespace flashwright

#else

namespace flashwright {

void run_on_threads(std::int64_t, void (*work)(void *context, std::int64_t worker), void *context) { work(context, 0); }

}  // namespace flashwright

#endif
