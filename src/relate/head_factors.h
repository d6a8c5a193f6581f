#pragma once

#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/model.h"
#include "headscope/relate/affinity_engine.h"
#include "headscope/relate/metric.h"

namespace headscope {

enum class Side { kSource, kTarget };

/// The heads of one layer, prepared for a metric that is a norm of a product, in host memory.
struct LayerFactors {
  std::size_t heads = 0;
  Buffer<float> values;              ///< heads * d_head columns of d_model floats
  std::vector<GramMoments> moments;  ///< as in PreparedLayer
  std::vector<std::size_t> ranks;
};

/// What determines the factors of one side of a pair; equal keys have equal factors.
struct FactorKey {
  Metric metric;
  Role role;
  Side side;

  friend bool operator==(const FactorKey&, const FactorKey&) = default;
};
[[nodiscard]] FactorKey factor_key(Metric metric, RolePair pair, Side side) noexcept;

/// Number of heads per layer on this side: native heads of the role; always query heads if `MetricInfo::by_query_head`.
[[nodiscard]] std::size_t factor_heads(const FactorKey& key, const HeadSizes& sizes) noexcept;

/// Width of the matrices on this side. Products of queries and keys take what keys of latent attention share, too.
[[nodiscard]] std::size_t factor_width(const FactorKey& key, const HeadSizes& sizes) noexcept;

/// Reads the weights of `heads` (indices into the layer; all if empty). Here and below, the buffers of `recycled` are
/// reused.
[[nodiscard]] FactorWeights load_weights(const Model& model, std::size_t layer, const FactorKey& key,
                                         WeightProcessing weights, const std::vector<std::size_t>& heads,
                                         FactorWeights recycled = {});

/// Prepares the factors on the CPU.
[[nodiscard]] LayerFactors prepare_factors(const FactorWeights& weights, LayerFactors recycled = {});

/// `load_weights`, then `prepare_factors`.
[[nodiscard]] LayerFactors load_factors(const Model& model, std::size_t layer, const FactorKey& key,
                                        WeightProcessing weights, const std::vector<std::size_t>& heads);

}  // namespace headscope
