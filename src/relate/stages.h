#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// About how long each metric takes and, last, the matched null if it is used, in flops of a product; only their
/// proportions count.
[[nodiscard]] std::vector<double> stage_costs(const HeadSizes& sizes, const RelateOptions& options, bool matched);

/// One progress of several pieces of work. Must outlive the functions it gives.
class Stages {
 public:
  Stages(const std::function<void(double)>& progress, std::vector<double> costs);

  /// Takes the share of one piece that is done, and reports the share of all. Empty if nobody listens.
  [[nodiscard]] std::function<void(double)> progress_of(std::size_t stage) const;

 private:
  const std::function<void(double)>& progress_;
  std::vector<double> costs_;
  double total_;
};

}  // namespace headscope
