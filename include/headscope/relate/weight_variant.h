#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/model.h"
#include "headscope/model/processing_steps.h"
#include "headscope/model/role.h"
#include "headscope/relate/affinity.h"

namespace headscope {

/// Weights processed in another way than a `WeightProcessing` says.
struct WeightVariant {
  ProcessingSteps steps = {};
  /// By Role: orthonormal vectors of length d_model, one after another, whose span is projected out of the role's
  /// matrices. Empty: none.
  std::array<std::vector<float>, 4> removed = {};

  /// Turns raw weights of a layer into the variant, in place. Cost: 4 d_model flops per weight column and vector.
  void apply(const Model& model, std::size_t layer, HeadWeights& weights) const;
};

/// The leading eigenvectors of the mean projector of each role, (1/N) sum over N heads of U U^T: directions that the
/// heads of a role share. By Role: `count` orthonormal vectors of length d_model, largest eigenvalue first; empty for
/// roles that are not in `roles`.
///
/// Collective: each rank prepares the heads of its own layers, rank 0 sums and decomposes, and all ranks get the
/// result. It does not depend on threads or ranks. Cost per role: 2 d_model^2 flops per column of a head, and an
/// eigendecomposition of a d_model x d_model matrix. Memory: that matrix in double and in float.
/// \throws Error  as `compute_affinities`.
[[nodiscard]] std::array<std::vector<float>, 4> common_directions(const Model& model, std::span<const Role> roles,
                                                                  std::size_t count, const AffinityOptions& options,
                                                                  const Context& context = {});

}  // namespace headscope
