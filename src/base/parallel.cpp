#include "headscope/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace headscope {
namespace {

std::atomic<std::size_t> chosen_threads{0};
thread_local bool inside_parallel_for = false;

std::size_t available_processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&set)));
  }
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace

std::size_t thread_count() noexcept {
  const std::size_t chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen != 0 ? chosen : available_processors();
}

void set_thread_count(std::size_t threads) noexcept {
  chosen_threads.store(threads, std::memory_order_relaxed);
}

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  const std::size_t threads = inside_parallel_for ? 1 : std::min(count, thread_count());
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }

  std::atomic<std::size_t> next{0};
  std::mutex first_error_mutex;
  std::exception_ptr first_error;
  const auto work = [&] {
    inside_parallel_for = true;
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(first_error_mutex);
        if (!first_error) first_error = std::current_exception();
        next = count;
      }
    }
    inside_parallel_for = false;
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(threads - 1);
    try {
      for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The system grants no more threads: the work is done by those there are.
    }
    work();
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace headscope
