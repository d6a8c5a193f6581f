#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope::report {

/// Returns the means of a map over blocks of rows and columns, after selecting rows and columns in the given order
/// (empty: all, unchanged). `row_starts` and `column_starts` say where blocks begin in that order, ascending from 0.
/// NaN entries are ignored; a block of only NaN is NaN. O(size).
[[nodiscard]] std::vector<float> pooled_map(MatrixView map, std::span<const std::size_t> row_starts,
                                            std::span<const std::size_t> column_starts,
                                            std::span<const std::size_t> rows = {},
                                            std::span<const std::size_t> columns = {});

/// Where blocks of `side` neighbors of `length` begin.
[[nodiscard]] std::vector<std::size_t> uniform_starts(std::size_t length, std::size_t side);

/// Key measures of an attention pattern, averaged over its queries.
struct PatternSummary {
  double entropy = 0;  ///< Entropy of a query's weights over the keys, in nats.
  double largest = 0;  ///< Its largest weight.
  double first = 0;    ///< Its weight on the first key (attention sinks).
};
/// Rows are not normalized; entries that are not positive count as 0.
[[nodiscard]] PatternSummary summarize_pattern(MatrixView pattern);

}  // namespace headscope::report
