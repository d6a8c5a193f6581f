#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// Work of each stage of `relate`, in flops: every metric, the matched null if it is among `nulls`, and the graph with
/// its communities. What an earlier run has finished does not count.
[[nodiscard]] std::vector<double> plan_work(const HeadSizes& sizes, const RelateOptions& options,
                                            std::span<const NullModel> nulls);

/// One progress for several stages: work done / work planned. It is not the share of the time: a flop takes longer in
/// some stages than in others. Must outlive the functions it returns.
class StageProgress {
 public:
  StageProgress(const std::function<void(double)>& progress, std::vector<double> work);

  [[nodiscard]] std::size_t stages() const noexcept { return work_.size(); }
  /// Takes the share of one stage that is done and reports the share of all. Empty if nobody listens.
  [[nodiscard]] std::function<void(double)> of(std::size_t stage) const;

 private:
  const std::function<void(double)>& progress_;
  std::vector<double> work_;
  double total_;
};

}  // namespace headscope
