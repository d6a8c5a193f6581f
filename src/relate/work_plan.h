#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// Work of each stage of `relate`, in flops: every metric, the matched null if it is among `nulls`, the
/// sensitivity if there are `variants` of it, and the graph with
/// its communities. What an earlier run has finished does not count.
[[nodiscard]] std::vector<double> plan_work(const HeadSizes& sizes, const RelateOptions& options,
                                            std::span<const NullModel> nulls, const FinishedBlocks* finished,
                                            std::size_t variants = 0);

/// Returns a context for each stage, in proportion to its work. This is not the share of the time: a flop takes longer
/// in some stages than in others.
[[nodiscard]] std::vector<Context> split_by_work(const Context& context, std::span<const double> work);

}  // namespace headscope
