#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace headscope {

/// Ranks from 0 in ascending order; ties share their mean rank.
template <typename T>
[[nodiscard]] std::vector<double> mean_ranks(std::span<const T> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

/// Spearman's rank correlation; NaN if all values of one side are equal. Both sides have the same length.
template <typename T>
[[nodiscard]] double rank_correlation(std::span<const T> a, std::span<const T> b) {
  const std::vector<double> ranks_a = mean_ranks(a);
  const std::vector<double> ranks_b = mean_ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;  // of all ranks, ties or not
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    aa += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    bb += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::numeric_limits<double>::quiet_NaN();
  return ab / std::sqrt(aa * bb);
}

}  // namespace headscope
