#pragma once

#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/model.h"
#include "headscope/relate/metric.h"

namespace headscope {

enum class Side { kSource, kTarget };

/// The heads of one layer prepared for a metric that is a norm of a product: the metric of heads i and j is
/// ||F_i^T G_j||_F^2 (or its root), with F from the source side and G from the target side.
struct LayerFactors {
  std::size_t heads = 0;
  Buffer<float> values;              ///< heads * d_head columns of d_model floats
  std::vector<GramMoments> moments;  ///< of each head's factor: what the isotropic null needs
  std::vector<std::size_t> ranks;    ///< of each head's subspace; d_head for metrics that do not look at it
};

/// What decides which factors a side of a pair has; equal keys have equal factors.
struct FactorKey {
  Metric metric;
  Role role;
  Side side;

  friend bool operator==(const FactorKey&, const FactorKey&) = default;
};
[[nodiscard]] FactorKey factor_key(Metric metric, RolePair pair, Side side) noexcept;

/// Heads a layer that the side has: native heads of the role; query heads throughout for the composition score.
[[nodiscard]] std::size_t factor_heads(const FactorKey& key, const HeadSizes& sizes) noexcept;

/// Loads one layer's heads and prepares those of `heads` (indices into the layer; all if empty).
[[nodiscard]] LayerFactors load_factors(const Model& model, std::size_t layer, const FactorKey& key,
                                        WeightProcessing weights, const std::vector<std::size_t>& heads);

}  // namespace headscope
