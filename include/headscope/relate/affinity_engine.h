#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headscope/linalg/gram.h"
#include "headscope/model/head_weights.h"
#include "headscope/relate/metric.h"

namespace headscope {

/// What the heads of one layer are prepared from, for one side of a metric of products.
struct FactorWeights {
  Metric metric = Metric::kPk;
  HeadWeights outer = {};               ///< d_model x d_head a head: the role's own matrices.
  HeadWeights inner = {};               ///< Their partners in the composition score; empty for other metrics.
  std::vector<std::size_t> heads = {};  ///< Which to prepare, by their place in the layer (query heads for cs).
  std::size_t queries_per_kv = 1;       ///< For cs: query head h uses KV head h / queries_per_kv.
  double rank_tolerance = 0;            ///< Singular values below this share of the largest are zero.

  /// What one of `heads` has of `part`, which is `outer` or `inner`: the columns of its matrix.
  [[nodiscard]] std::span<const float> columns(const HeadWeights& part, std::size_t head) const noexcept {
    return part.columns(metric == Metric::kCs && is_key_value(part.role()) ? head / queries_per_kv : head);
  }
};

/// The heads of one layer prepared for a metric that is a norm of products, wherever their engine keeps them: the
/// metric of heads i and j is ||F_i^T G_j||_F^2 (or its root), F from the source's layer, G from the target's.
struct PreparedLayer {
  virtual ~PreparedLayer() = default;

  std::vector<GramMoments> moments;  ///< Of each head's factor: what the isotropic null needs.
  std::vector<std::size_t> ranks;    ///< Of each head's subspace; d_head for metrics that do not look at it.
};

/// All heads of one layer against all heads of another.
struct LayerBlock {
  const PreparedLayer* source = nullptr;
  const PreparedLayer* target = nullptr;
  float* out = nullptr;  ///< out[i * out_stride + j] = ||F_i^T G_j||_F^2
  std::size_t out_stride = 0;
};

/// Prepares heads and multiplies them: the two expensive steps of every affinity between heads. The CPU implements it
/// here, a device implements the same. A block's bits depend on its two layers alone, not on the blocks beside it, on
/// the number of threads, or on who else computes other blocks.
class AffinityEngine {
 public:
  virtual ~AffinityEngine() = default;

  [[nodiscard]] virtual std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const = 0;

  /// Begins computing the blocks. Layers and outputs must stay until `wait` returns.
  /// A block of a layer with itself is computed by half and mirrored.
  virtual void compute(std::span<const LayerBlock> blocks) const = 0;
  /// Until all that was begun is done.
  virtual void wait() const = 0;

  /// Bytes that a prepared layer of `heads` heads takes, and bytes there are for prepared layers if `wanted` are
  /// asked for (a device has what it has).
  [[nodiscard]] virtual std::size_t layer_bytes(std::size_t heads, std::size_t d_model, std::size_t d_head) const = 0;
  [[nodiscard]] virtual std::size_t capacity(std::size_t wanted) const = 0;

  /// A prepared layer as bytes for another rank's engine of the same kind, and back.
  [[nodiscard]] virtual std::vector<std::byte> pack(const PreparedLayer& layer) const = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const = 0;

  /// "cpu", "cuda tf32": names what decides the bits of the results, for the manifest and for finished tiles.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// On this machine's processors.
[[nodiscard]] std::unique_ptr<AffinityEngine> cpu_affinity_engine();

}  // namespace headscope
