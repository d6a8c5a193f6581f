#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "headscope/relate/affinity.h"

namespace headscope {

/// A number per earlier-to-later pair of heads of a role pair, in the order of `for_each_later`: about half of what a
/// matrix of all pairs takes.
class LaterValues {
 public:
  LaterValues() = default;
  /// The heads on both sides must be in the order of HeadId, as in every `Affinities`.
  explicit LaterValues(const Affinities& affinities, float value = std::numeric_limits<float>::quiet_NaN()) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < affinities.source.heads.size(); ++i) {
      Row row;
      std::size_t run = 0;
      for (std::size_t j = 0; j < affinities.target.heads.size(); ++j) {
        if (!is_later(affinities, i, j)) continue;
        if (row[run].end > 0 && row[run].end != j) ++run;
        if (row[run].end == 0) row[run] = {j, j, count};
        ++row[run].end;
        ++count;
      }
      rows_.push_back(row);
    }
    values_.assign(count, value);
  }

  /// The pair must be earlier-to-later.
  [[nodiscard]] float operator()(std::size_t i, std::size_t j) const noexcept { return values_[index(i, j)]; }
  [[nodiscard]] float& operator()(std::size_t i, std::size_t j) noexcept { return values_[index(i, j)]; }

  [[nodiscard]] std::vector<float>& values() noexcept { return values_; }
  [[nodiscard]] const std::vector<float>& values() const noexcept { return values_; }

 private:
  // Consecutive columns; those of a row end with a block of the model.
  struct Run {
    std::size_t first = 0;
    std::size_t end = 0;    // 0: there is no such run
    std::size_t begin = 0;  // index of its first value
  };
  using Row = std::array<Run, kNamedBlocks.size()>;

  [[nodiscard]] std::size_t index(std::size_t i, std::size_t j) const noexcept {
    const Row& row = rows_[i];
    std::size_t run = 0;
    while (j >= row[run].end) ++run;
    return row[run].begin + j - row[run].first;
  }

  std::vector<Row> rows_;
  std::vector<float> values_;
};

/// Number of earlier-to-later pairs of heads.
[[nodiscard]] inline std::size_t count_later(const Affinities& affinities) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < affinities.source.heads.size(); ++i) {
    for (std::size_t j = 0; j < affinities.target.heads.size(); ++j) count += is_later(affinities, i, j) ? 1 : 0;
  }
  return count;
}

}  // namespace headscope
