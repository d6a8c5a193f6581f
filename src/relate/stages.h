#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// One of several pieces of work, as it is known beforehand.
struct Stage {
  double flops = 0;        ///< Of products that would take as long; what an earlier run has finished does not count.
  bool on_engine = false;  ///< Computed by the engine, not by this machine's processors.
  double seconds = 0;      ///< Where it is not products: about as long as that.
};

/// The metrics, the matched null if it is among `nulls`, and what is made of them: edges, graph and communities.
[[nodiscard]] std::vector<Stage> plan_stages(const HeadSizes& sizes, const RelateOptions& options,
                                             std::span<const NullModel> nulls);

/// Seconds that this machine's processors take for one flop of the matched null, as they do the most of it: random
/// heads, one for each thread, are orthonormalized and added up.
[[nodiscard]] double seconds_of_flop(const HeadSizes& sizes);

/// One progress of several pieces of work, which is the share of the time: that of a piece goes by what it says itself,
/// that of those to come by what such flops have taken so far. Must outlive the functions it gives.
class Stages {
 public:
  /// `on_processors` is the time of a flop there where it is not the engine's, 0 where it is. `now` gives seconds.
  Stages(const std::function<void(double)>& progress, std::vector<Stage> stages, double on_processors = 0,
         std::function<double()> now = steady_seconds);

  [[nodiscard]] std::size_t count() const noexcept { return stages_.size(); }
  /// Takes the share of one piece that is done, and reports the share of all. Empty if nobody listens.
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
  double last_;                  // report
  std::vector<double> seconds_;  // of the stages that are over
  double reported_ = 0;
};

}  // namespace headscope
