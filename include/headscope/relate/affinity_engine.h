#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headscope/linalg/gram.h"
#include "headscope/model/head_weights.h"
#include "headscope/model/rotary.h"
#include "headscope/relate/metric.h"

namespace headscope {

/// Weights from which the heads of one layer are prepared, for one side of a product metric.
struct FactorWeights {
  Metric metric = Metric::kPk;
  HeadWeights outer = {};               ///< d_model x d_head per head: the role's own matrices.
  HeadWeights inner = {};               ///< Their partners, if `MetricInfo::products`; otherwise empty.
  std::vector<std::size_t> heads = {};  ///< Heads to prepare, by index in the layer (see `by_query_head`).
  std::size_t queries_per_kv = 1;       ///< For products: query head h uses KV head h / queries_per_kv.
  /// Singular values below this fraction of the largest, or below `outer.noise(head)`, are treated as zero.
  double rank_tolerance = 0;
  /// The dimension of a space that contains the columns of all heads of the layer, if the model bounds it; else 0. An
  /// engine may use it to save work.
  std::size_t joint_rank = 0;
  Rotary rotary = {};  ///< Rotations to average over, for FactorKind::kRotaryProduct; width 0 for none.

  /// The columns of one head's matrix in `part`, which is `outer` or `inner`.
  [[nodiscard]] std::span<const float> columns(const HeadWeights& part, std::size_t head) const noexcept {
    return part.columns(info(metric).by_query_head() && is_key_value(part.role()) ? head / queries_per_kv : head);
  }
};

/// The heads of one layer, prepared for a metric that is a norm of products, in the engine's memory. The metric of
/// heads i and j is ||F_i^T G_j||_F^2 (or its root), with F from the source layer and G from the target layer.
struct PreparedLayer {
  virtual ~PreparedLayer() = default;

  std::vector<GramMoments> moments;  ///< Of each head's factor; used by the isotropic null.
  std::vector<std::size_t> ranks;    ///< Of each head's subspace; d_head for metrics that do not use it.
};

/// All heads of one layer against all heads of another.
struct LayerBlock {
  const PreparedLayer* source = nullptr;
  const PreparedLayer* target = nullptr;
  float* out = nullptr;  ///< out[i * out_stride + j] = ||F_i^T G_j||_F^2
  std::size_t out_stride = 0;
};

/// Prepares heads and multiplies them: the two expensive steps of product metrics. The CPU implementation is below; a
/// device can implement the same interface. The bits of a block depend only on its two layers, not on other blocks, the
/// number of threads, or which rank computes them.
class AffinityEngine {
 public:
  virtual ~AffinityEngine() = default;

  [[nodiscard]] virtual std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const = 0;

  /// Starts computing the blocks. Layers and outputs must remain valid until `wait` returns. For a block of a layer
  /// with itself, half is computed and mirrored.
  virtual void compute(std::span<const LayerBlock> blocks) const = 0;
  /// Waits until all started blocks are done.
  virtual void wait() const = 0;

  /// `layer_bytes`: bytes of a prepared layer of `heads` heads. `capacity`: bytes available for prepared layers if
  /// `wanted` are requested (a device has a fixed amount).
  [[nodiscard]] virtual std::size_t layer_bytes(std::size_t heads, std::size_t d_model, std::size_t d_head) const = 0;
  [[nodiscard]] virtual std::size_t capacity(std::size_t wanted) const = 0;

  /// Serializes a prepared layer for another rank's engine of the same kind, and deserializes it.
  [[nodiscard]] virtual std::vector<std::byte> pack(const PreparedLayer& layer) const = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const = 0;

  /// E.g. "cpu", "cuda tf32". Identifies everything in the engine that affects the bits of the results, for the
  /// manifest and for finished blocks.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// Implementation on the CPU.
[[nodiscard]] std::unique_ptr<AffinityEngine> cpu_affinity_engine();

}  // namespace headscope
