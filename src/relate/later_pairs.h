#pragma once

#include <cstddef>

#include "headscope/relate/affinity.h"

namespace headscope {

/// Calls `function(row, column)` for every pair of heads whose source layer is before the target layer, row by row: the
/// pairs along which information can flow, and the only ones that --earlier-only computes.
template <typename Function>
void for_each_later(const Affinities& affinities, const Function& function) {
  for (std::size_t i = 0; i < affinities.source.heads.size(); ++i) {
    for (std::size_t j = 0; j < affinities.target.heads.size(); ++j) {
      if (affinities.source.heads[i].layer < affinities.target.heads[j].layer) function(i, j);
    }
  }
}

}  // namespace headscope
