#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope::report {

/// A map averaged over blocks of `side` x `side` entries, after some of its rows and columns have been taken in an
/// order (empty: all as they are). NaN entries are left out of the means; a block of nothing else is NaN. O(size).
[[nodiscard]] std::vector<float> pooled_map(MatrixView map, std::size_t side, std::span<const std::size_t> rows = {},
                                            std::span<const std::size_t> columns = {});

/// What a person asks of an attention pattern first; means over its queries.
struct PatternSummary {
  double entropy = 0;  ///< Of a query's weights over the keys, in nats.
  double largest = 0;  ///< Its largest weight.
  double first = 0;    ///< Its weight on the first key: attention sinks.
};
/// Rows are taken as they are; entries that are not positive count as 0.
[[nodiscard]] PatternSummary summarize_pattern(MatrixView pattern);

}  // namespace headscope::report
