#pragma once

#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// Selects the edges of one role pair: the `top` closest earlier-to-later pairs of heads, or all with q of the first
/// null below `q_level`. Heads of rank 0 have no edges. `nulls` has one Significance per null.
[[nodiscard]] std::vector<Edge> select_edges(const Affinities& affinities, const std::vector<Significance>& nulls,
                                             std::size_t top, std::optional<double> q_level);

}  // namespace headscope
