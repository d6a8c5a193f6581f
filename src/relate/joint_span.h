#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/linalg/anisotropic_normal.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope {

/// An orthonormal basis S of all that the heads of one layer span together: `rank` vectors of `d` contiguous floats.
/// Empty if that is (or may be) the whole space.
struct JointSpan {
  std::size_t rank = 0;
  std::size_t d = 0;
  Buffer<float> vectors = {};  ///< May have room for more.

  [[nodiscard]] bool empty() const noexcept { return rank == 0; }
  [[nodiscard]] std::span<const float> basis() const noexcept { return vectors.values().first(rank * d); }
};

/// Heads in the coordinates of their joint span: head a of the layer is S^T X_a, and `weights` has the X_a. Singular
/// values, ranks, norms and products of heads of the same layer are those of the X_a.
struct WeightsInSpan {
  JointSpan span = {};
  FactorWeights weights = {};
};

/// Finds the joint span of heads that read a latent of `FactorWeights::joint_rank` numbers, which in DeepSeek V3 are
/// 512 of 7168 dimensions. Returns nothing if the span has more than half of the dimensions, or if a millionth of the
/// squared norm of some head would be outside.
///
/// The basis is that of random signed sums of the heads' columns, an eighth more than the rank: as many generic sums as
/// the rank span the same space. Cost: 4 d rank^2 flops in double and 2 d rank flops per column.
[[nodiscard]] std::optional<WeightsInSpan> in_joint_span(const FactorWeights& weights);

/// Returns the coordinates S x of all columns of a stack. Cost: 2 d rank flops per column.
[[nodiscard]] Buffer<float> coordinates(const JointSpan& span, const FactorStack& stack);

/// Adds the projectors of orthonormal bases (in coordinates of the span, unless it is empty) to a sum over the whole
/// space. With a span the cost is d^2 rank flops, for any number of heads.
void add_projectors(CovarianceSum& sum, const JointSpan& span, std::span<const float> bases);

}  // namespace headscope
