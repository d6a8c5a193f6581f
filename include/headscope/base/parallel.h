#pragma once

#include <cstddef>
#include <functional>

namespace headscope {

/// Number of threads that `parallel_for` uses: the value passed to `set_thread_count`, or by default the number of
/// processors this process may run on.
[[nodiscard]] std::size_t thread_count() noexcept;

/// Number of threads that a `parallel_for` called from this thread may use: 1 inside another `parallel_for`.
[[nodiscard]] std::size_t threads_here() noexcept;

/// 0 restores the default.
void set_thread_count(std::size_t threads) noexcept;

/// Calls `body(i)` once for every i in [0, count), on several threads, in no particular order, and returns when all
/// calls have finished. As long as bodies write to separate memory, results do not depend on which thread runs which i.
///
/// Threads are started once and reused. Runs on the calling thread alone if called from inside another parallel_for, or
/// while another thread's parallel_for is using the pool. Rethrows the first exception thrown by a body; calls that had
/// not started by then are skipped.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace headscope
