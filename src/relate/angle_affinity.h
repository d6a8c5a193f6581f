#pragma once

#include "headscope/relate/affinity.h"

namespace headscope {

/// Fills `result`, whose metric and pair are set, for the metrics that need all principal angles: max-cos,
/// binet-cauchy, chordal, grassmann, procrustes.
void compute_angle_affinities(const Model& model, const AffinityOptions& options, Affinities& result);

/// The metric of two subspaces of ranks p and q from their principal angles.
[[nodiscard]] double angle_metric(Metric metric, std::span<const double> angles, std::span<const double> cosines,
                                  std::size_t p, std::size_t q);

}  // namespace headscope
