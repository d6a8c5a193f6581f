#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope::report {

/// Returns a map averaged over blocks of `side` x `side` entries, after selecting rows and columns in the given order
/// (empty: all, unchanged). NaN entries are ignored; a block of only NaN is NaN. O(size).
[[nodiscard]] std::vector<float> pooled_map(MatrixView map, std::size_t side, std::span<const std::size_t> rows = {},
                                            std::span<const std::size_t> columns = {});

/// Key measures of an attention pattern, averaged over its queries.
struct PatternSummary {
  double entropy = 0;  ///< Entropy of a query's weights over the keys, in nats.
  double largest = 0;  ///< Its largest weight.
  double first = 0;    ///< Its weight on the first key (attention sinks).
};
/// Rows are not normalized; entries that are not positive count as 0.
[[nodiscard]] PatternSummary summarize_pattern(MatrixView pattern);

}  // namespace headscope::report
