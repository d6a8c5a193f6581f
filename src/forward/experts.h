#pragma once

#include <cstddef>
#include <functional>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/experts.h"
#include "headscope/model/forward_form.h"

namespace headscope {

/// How a mixture of experts is run.
struct ExpertRun {
  Activation activation = Activation::kSilu;
  bool release = false;             ///< Release the pages of each expert's weights after use.
  std::function<void()> poll = {};  ///< Called after each expert.
};

/// out = the mixture, for all rows of x. Reads the router, the experts that some row chooses, one at a time, and the
/// shared expert. The result does not depend on the number of threads.
void run_experts(const Checkpoint& checkpoint, const StoredExperts& experts, const ExpertRun& run, MatrixView x,
                 MatrixSpan out, Buffer<float>& scratch);

/// Bytes that takes, apart from decoded weights: per row of x, and at most for the rows of one expert at a time.
struct ExpertMemory {
  std::size_t per_row = 0;
  std::size_t fixed = 0;
};
[[nodiscard]] ExpertMemory expert_memory(const StoredExperts& experts);

}  // namespace headscope
