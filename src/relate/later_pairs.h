#pragma once

#include <algorithm>
#include <cstddef>

#include "headscope/relate/affinity.h"

namespace headscope {

/// Calls `function(row, column)` for every pair of heads of which the source precedes the target, row by row: the pairs
/// along which information can flow, and the only ones that --earlier-only computes.
template <typename Function>
void for_each_later(const Affinities& affinities, const Function& function) {
  for (std::size_t i = 0; i < affinities.source.heads.size(); ++i) {
    for (std::size_t j = 0; j < affinities.target.heads.size(); ++j) {
      if (is_later(affinities, i, j)) function(i, j);
    }
  }
}

/// Classes of pairs by the blocks and the distance of their layers, numbered from 0: those that the span null compares.
class SpanClasses {
 public:
  explicit SpanClasses(const Affinities& affinities) {
    for (const AffinitySide* side : {&affinities.source, &affinities.target}) {
      for (const HeadId& head : side->heads) layers_ = std::max(layers_, head.layer + 1);
      for (const HeadId& head : side->heads) has_blocks_ = has_blocks_ || head.block != Block::kOnly;
    }
  }
  [[nodiscard]] std::size_t count() const noexcept { return (has_blocks_ ? 16 : 1) * 2 * layers_; }
  [[nodiscard]] std::size_t of(const HeadId& source, const HeadId& target) const noexcept {
    const std::size_t blocks = 4 * static_cast<std::size_t>(source.block) + static_cast<std::size_t>(target.block);
    return blocks * 2 * layers_ + target.layer + layers_ - source.layer;
  }

 private:
  std::size_t layers_ = 1;
  bool has_blocks_ = false;
};

}  // namespace headscope
