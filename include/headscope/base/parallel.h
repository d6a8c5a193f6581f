#pragma once

#include <cstddef>
#include <functional>

namespace headscope {

/// Number of threads `parallel_for` uses: what `set_thread_count` said, else
/// the number of processors this process may run on.
[[nodiscard]] std::size_t thread_count() noexcept;

/// How many a `parallel_for` that is called here may use: one inside another.
[[nodiscard]] std::size_t threads_here() noexcept;

/// 0 restores the default.
void set_thread_count(std::size_t threads) noexcept;

/// Calls `body(i)` once for every i in [0, count), on several threads, in no
/// particular order; returns when all calls have. Which thread runs which i
/// never shows in a result as long as bodies write to separate places.
///
/// Threads are started once and kept. Runs on the calling thread alone when called from inside
/// another parallel_for, or while another thread's has the threads. The first exception thrown by a body is rethrown
/// here; calls that had not begun by then are skipped.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace headscope
