#pragma once

#include "headscope/relate/affinity.h"

namespace headscope {

/// Fills the results, whose metric and pair are set, for the metrics that need all principal angles: max-cos,
/// binet-cauchy, chordal, grassmann, procrustes. Source layers are distributed over ranks; each rank reads the targets
/// of all layers.
void compute_angle_affinities(const Model& model, const AffinityOptions& options, const Context& context,
                              FinishedBlocks* finished, std::span<Affinities> results);

/// Returns the metric of two subspaces of R^d, given by orthonormal bases of p and q vectors.
[[nodiscard]] double angle_metric(Metric metric, std::span<const double> u, std::size_t p, std::span<const double> v,
                                  std::size_t q, std::size_t d);

}  // namespace headscope
