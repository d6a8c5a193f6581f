#pragma once

#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/model.h"
#include "headscope/relate/affinity_engine.h"
#include "headscope/relate/metric.h"

namespace headscope {

enum class Side { kSource, kTarget };

/// The heads of one layer prepared for a metric that is a norm of a product, in this machine's memory.
struct LayerFactors {
  std::size_t heads = 0;
  Buffer<float> values;              ///< heads * d_head columns of d_model floats
  std::vector<GramMoments> moments;  ///< as PreparedLayer
  std::vector<std::size_t> ranks;
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

/// Reads what the factors of `heads` (indices into the layer; all if empty) are prepared from. Here and below, memory
/// of `recycled` is used again.
[[nodiscard]] FactorWeights load_weights(const Model& model, std::size_t layer, const FactorKey& key,
                                         WeightProcessing weights, const std::vector<std::size_t>& heads,
                                         FactorWeights recycled = {});

/// Prepares them on this machine's processors.
[[nodiscard]] LayerFactors prepare_factors(const FactorWeights& weights, LayerFactors recycled = {});

/// Both.
[[nodiscard]] LayerFactors load_factors(const Model& model, std::size_t layer, const FactorKey& key,
                                        WeightProcessing weights, const std::vector<std::size_t>& heads);

}  // namespace headscope
