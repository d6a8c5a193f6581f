#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "headscope/relate/affinity.h"

namespace headscope {

/// A number per earlier-to-later pair of heads of a role pair, in the order of `for_each_later`: about half of what a
/// matrix of all pairs takes.
class LaterValues {
 public:
  LaterValues() = default;
  /// The heads on both sides must be in layer order, as in every `Affinities`.
  explicit LaterValues(const Affinities& affinities, float value = std::numeric_limits<float>::quiet_NaN()) {
    const std::vector<HeadId>& targets = affinities.target.heads;
    std::size_t count = 0;
    for (const HeadId& source : affinities.source.heads) {
      const auto later = std::ranges::upper_bound(targets, source.layer, {}, &HeadId::layer);
      rows_.push_back({count, static_cast<std::size_t>(later - targets.begin())});
      count += static_cast<std::size_t>(targets.end() - later);
    }
    values_.assign(count, value);
  }

  /// The pair must be earlier-to-later.
  [[nodiscard]] float operator()(std::size_t i, std::size_t j) const noexcept { return values_[index(i, j)]; }
  [[nodiscard]] float& operator()(std::size_t i, std::size_t j) noexcept { return values_[index(i, j)]; }

  [[nodiscard]] std::vector<float>& values() noexcept { return values_; }
  [[nodiscard]] const std::vector<float>& values() const noexcept { return values_; }

 private:
  struct Row {
    std::size_t begin = 0;         // index of the row's first value
    std::size_t first_column = 0;  // its column
  };

  [[nodiscard]] std::size_t index(std::size_t i, std::size_t j) const noexcept {
    return rows_[i].begin + j - rows_[i].first_column;
  }

  std::vector<Row> rows_;
  std::vector<float> values_;
};

/// Number of earlier-to-later pairs of heads.
[[nodiscard]] inline std::size_t count_later(const Affinities& affinities) {
  std::size_t count = 0;
  for (const HeadId& source : affinities.source.heads) {
    const auto later = std::ranges::upper_bound(affinities.target.heads, source.layer, {}, &HeadId::layer);
    count += static_cast<std::size_t>(affinities.target.heads.end() - later);
  }
  return count;
}

}  // namespace headscope
