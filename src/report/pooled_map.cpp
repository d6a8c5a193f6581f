#include "report/pooled_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope::report {

std::vector<float> pooled_map(MatrixView map, std::size_t side, std::span<const std::size_t> rows,
                              std::span<const std::size_t> columns) {
  const std::size_t row_count = rows.empty() ? map.rows() : rows.size();
  const std::size_t column_count = columns.empty() ? map.columns() : columns.size();
  const std::size_t height = (row_count + side - 1) / side;
  const std::size_t width = (column_count + side - 1) / side;
  std::vector<double> sums(height * width);
  std::vector<std::size_t> counts(height * width);
  for (std::size_t i = 0; i < row_count; ++i) {
    const std::size_t row = rows.empty() ? i : rows[i];
    const std::size_t begin = i / side * width;
    for (std::size_t j = 0; j < column_count; ++j) {
      const float value = map(row, columns.empty() ? j : columns[j]);
      if (std::isnan(value)) continue;
      sums[begin + j / side] += value;
      ++counts[begin + j / side];
    }
  }
  std::vector<float> means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    means[i] = counts[i] > 0 ? static_cast<float>(sums[i] / static_cast<double>(counts[i]))
                             : std::numeric_limits<float>::quiet_NaN();
  }
  return means;
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
