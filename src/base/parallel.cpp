#include "headscope/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "headscope/base/system.h"

namespace headscope {
namespace {

std::atomic<std::size_t> chosen_threads{0};
thread_local bool inside_parallel_for = false;

void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins briefly before giving up: waking a sleeping thread takes longer than many pieces of work.
template <typename Condition>
bool spin_until(const Condition& condition) noexcept {
  constexpr int kSpins = 2000;  // about 50 microseconds
  for (int i = 0; i < kSpins; ++i) {
    if (condition()) return true;
    pause();
  }
  return false;
}

// One parallel_for: each thread takes the next index until none is left.
class Job {
 public:
  Job(std::size_t count, const std::function<void(std::size_t)>& body) : count_(count), body_(body) {}

  void work() noexcept {
    inside_parallel_for = true;
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        body_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!first_error_) first_error_ = std::current_exception();
        next_ = count_;
      }
    }
    inside_parallel_for = false;
  }
  void rethrow() const {
    if (first_error_) std::rethrow_exception(first_error_);
  }

  std::size_t seats = 0;             // helpers that may still join; guarded by the pool's mutex
  std::atomic<std::size_t> busy{0};  // helpers that have joined and not finished

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& body_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr first_error_;
};

// Thread pool. Starting a thread takes about 50 microseconds, which a model with many small layers would pay thousands
// of times; these threads are started once and run until the process exits.
class Pool {
 public:
  static Pool& instance() {
    static Pool* const pool = new Pool;  // never destroyed: its threads use it until the process ends
    return *pool;
  }

  // Runs the job on this thread and up to `helpers` others; on this thread alone if another thread's job is using the
  // pool.
  void run(Job& job, std::size_t helpers) {
    const std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return job.work();
    {
      const std::lock_guard lock(mutex_);
      start_threads(helpers);
      job.seats = std::min(helpers, threads_);
      job_ = &job;
      ++generation_;
    }
    wake_.notify_all();
    job.work();
    {
      const std::lock_guard lock(mutex_);
      job_ = nullptr;  // helpers that have not joined by now are not needed
    }
    if (spin_until([&] { return job.busy == 0; })) return;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return job.busy == 0; });
  }

 private:
  void start_threads(std::size_t wanted) {
    try {
      for (; threads_ < wanted; ++threads_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // The system allows no more threads: continue with those that were started.
    }
  }

  void serve() {
    std::uint64_t seen = 0;
    while (true) {
      static_cast<void>(spin_until([&] { return generation_ != seen; }));
      Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_ != seen; });
        seen = generation_;
        if (job_ == nullptr || job_->seats == 0) continue;
        job = job_;
        --job->seats;
        ++job->busy;
      }
      job->work();
      const std::lock_guard lock(mutex_);
      --job->busy;  // the job may be destroyed from here on
      finished_.notify_all();
    }
  }

  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::atomic<std::uint64_t> generation_{0};
  std::size_t threads_ = 0;
  Job* job_ = nullptr;
};

}  // namespace

std::size_t thread_count() noexcept {
  const std::size_t chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen != 0 ? chosen : available_processors();
}

std::size_t threads_here() noexcept {
  return inside_parallel_for ? 1 : thread_count();
}

void set_thread_count(std::size_t threads) noexcept {
  chosen_threads.store(threads, std::memory_order_relaxed);
}

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  const std::size_t threads = std::min(count, threads_here());
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Job job(count, body);
  Pool::instance().run(job, threads - 1);
  job.rethrow();
}

}  // namespace headscope
