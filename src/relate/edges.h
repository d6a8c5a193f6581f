#pragma once

#include <vector>

#include "headscope/relate/relate.h"

namespace headscope {

/// The edges of one pair of roles: the `top` closest earlier-to-later pairs of heads, or all with q of the first null
/// below `q_level`. Heads of rank 0 have none. `nulls` holds one Significance a null.
[[nodiscard]] std::vector<Edge> select_edges(const Affinities& affinities, const std::vector<Significance>& nulls,
                                             std::size_t top, std::optional<double> q_level);

/// An affinity as a similarity that is not negative, for weights of graphs: itself, 1 / (1 + x) for distances,
/// exp(x) for logarithms.
[[nodiscard]] double similarity(Metric metric, float value);

}  // namespace headscope
