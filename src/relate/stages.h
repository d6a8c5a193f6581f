#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// A stage of the computation, as estimated in advance.
struct Stage {
  double flops = 0;        ///< Flops of products that would take as long, without what an earlier run finished.
  bool on_engine = false;  ///< Computed by the engine rather than the CPU.
  double seconds = 0;      ///< Approximate time, for work that is not products.
};

/// Plans the stages: one per metric, the matched null if it is in `nulls`, and the final one with edges, graph and
/// communities.
[[nodiscard]] std::vector<Stage> plan_stages(const HeadSizes& sizes, const RelateOptions& options,
                                             std::span<const NullModel> nulls);

/// Measures how many seconds the CPU takes per flop of the matched null, in its dominant operation: orthonormalizing
/// and adding up random heads, one per thread.
[[nodiscard]] double seconds_of_flop(const HeadSizes& sizes);

/// Combines the progress of several stages into one, as a fraction of time. The current stage is estimated from its own
/// progress, later stages from the time per flop so far. Must outlive the functions it returns.
class Stages {
 public:
  /// `on_processors` is the CPU's time per flop if it differs from the engine's, else 0. `now` returns seconds.
  Stages(const std::function<void(double)>& progress, std::vector<Stage> stages, double on_processors = 0,
         std::function<double()> now = steady_seconds);

  [[nodiscard]] std::size_t count() const noexcept { return stages_.size(); }
  /// Returns a function that takes the progress of one stage and reports the overall progress. Empty if there is no
  /// progress callback.
  [[nodiscard]] std::function<void(double)> progress_of(std::size_t stage);

 private:
  static double steady_seconds();
  void reach(std::size_t stage, double share);
  [[nodiscard]] double rate(bool on_engine, double seconds_here, double share_here) const;

  const std::function<void(double)>& progress_;
  std::vector<Stage> stages_;
  double on_processors_;
  std::function<double()> now_;
  double begin_;
  std::size_t current_ = 0;
  double current_begin_;
  double last_;                  // time of the last report
  std::vector<double> seconds_;  // of the finished stages
  double reported_ = 0;
};

}  // namespace headscope
