#include "report/pooled_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope::report {

namespace {

// The block of each of `count` elements.
std::vector<std::size_t> blocks_of(std::span<const std::size_t> starts, std::size_t count) {
  std::vector<std::size_t> blocks(count);
  for (std::size_t block = 0; block < starts.size(); ++block) {
    const std::size_t end = block + 1 < starts.size() ? starts[block + 1] : count;
    for (std::size_t i = starts[block]; i < end; ++i) blocks[i] = block;
  }
  return blocks;
}

}  // namespace

std::vector<float> pooled_map(MatrixView map, std::span<const std::size_t> row_starts,
                              std::span<const std::size_t> column_starts, std::span<const std::size_t> rows,
                              std::span<const std::size_t> columns) {
  const std::size_t row_count = rows.empty() ? map.rows() : rows.size();
  const std::size_t column_count = columns.empty() ? map.columns() : columns.size();
  const std::size_t width = column_starts.size();
  const std::vector<std::size_t> row_blocks = blocks_of(row_starts, row_count);
  const std::vector<std::size_t> column_blocks = blocks_of(column_starts, column_count);
  std::vector<double> sums(row_starts.size() * width);
  std::vector<std::size_t> counts(sums.size());
  for (std::size_t i = 0; i < row_count; ++i) {
    const std::size_t row = rows.empty() ? i : rows[i];
    const std::size_t begin = row_blocks[i] * width;
    for (std::size_t j = 0; j < column_count; ++j) {
      const float value = map(row, columns.empty() ? j : columns[j]);
      if (std::isnan(value)) continue;
      sums[begin + column_blocks[j]] += value;
      ++counts[begin + column_blocks[j]];
    }
  }
  std::vector<float> means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    means[i] = counts[i] > 0 ? static_cast<float>(sums[i] / static_cast<double>(counts[i]))
                             : std::numeric_limits<float>::quiet_NaN();
  }
  return means;
}

std::vector<std::size_t> uniform_starts(std::size_t length, std::size_t side) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < length; i += side) starts.push_back(i);
  return starts;
}

PatternSummary summarize_pattern(MatrixView pattern) {
  PatternSummary sum;
  for (std::size_t i = 0; i < pattern.rows(); ++i) {
    double largest = 0;
    for (std::size_t j = 0; j < pattern.columns(); ++j) {
      const double weight = pattern(i, j);
      if (!(weight > 0)) continue;
      sum.entropy -= weight * std::log(weight);
      largest = std::max(largest, weight);
    }
    sum.largest += largest;
    if (pattern.columns() > 0 && pattern(i, 0) > 0) sum.first += pattern(i, 0);
  }
  const double queries = pattern.rows() > 0 ? static_cast<double>(pattern.rows()) : 1;
  return {sum.entropy / queries, sum.largest / queries, sum.first / queries};
}

}  // namespace headscope::report
