#pragma once

#include <vector>

#include "headscope/relate/judgment.h"

namespace headscope {

/// Selects the edges of one role pair: the `top` closest earlier-to-later pairs of heads, those beyond chance first, or
/// all with `Edge::q` at most `q_level`. Heads of rank 0 have no edges. Without a judgment, edges are only ranked by
/// score.
[[nodiscard]] std::vector<Edge> select_edges(const Affinities& affinities, const Judgment* judgment,
                                             std::size_t shown_nulls, std::size_t top, std::optional<double> q_level);

}  // namespace headscope
