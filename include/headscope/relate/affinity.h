#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"
#include "headscope/relate/affinity_engine.h"
#include "headscope/relate/finished_blocks.h"
#include "headscope/relate/metric.h"

namespace headscope {

struct WeightVariant;  // relate/weight_variant.h

/// The heads on one side of a pair, layer by layer.
struct AffinitySide {
  std::vector<HeadId> heads;
  std::vector<std::size_t> ranks;    ///< Of each head's subspace.
  std::vector<GramMoments> moments;  ///< Of each head's factor, for the isotropic null; empty for angle metrics.
};

/// One metric between all heads of one role and all heads of another.
struct Affinities {
  Metric metric = Metric::kPk;
  RolePair pair = {};
  AffinitySide source = {};
  AffinitySide target = {};
  Matrix values = {};  ///< Rows are sources, columns are targets. NaN where not requested or not defined.
};

struct AffinityOptions {
  WeightProcessing weights = WeightProcessing::kFolded;
  /// Weights processed in another way, in place of `weights`; null for `weights`. Used by `sensitivity`.
  std::shared_ptr<const WeightVariant> variant = {};
  /// Only pairs whose source precedes the target; other pairs cost nothing. Pairs in different residual streams are
  /// never computed.
  bool earlier_only = false;
  std::vector<std::size_t> layers = {};  ///< Only these, in every block; all if empty.
  /// Only these query heads of each layer, and the KV heads they use. All if this and `named_heads` are empty.
  std::vector<std::size_t> heads = {};
  std::vector<HeadId> named_heads = {};  ///< Individual query heads, in addition to `heads`.
};

/// Whether the source of a pair, given by its row and column, precedes its target.
[[nodiscard]] inline bool is_later(const Affinities& affinities, std::size_t row, std::size_t column) noexcept {
  return precedes(affinities.source.heads[row], affinities.pair.source, affinities.target.heads[column],
                  affinities.pair.target);
}

/// \throws Error  kInvalidArgument if the metric is not defined for the model: rope-cs needs rotary positions.
void check_metric(const Model& model, Metric metric);

/// Computes the affinities of every requested pair. A head whose subspace has rank 0 has affinity 0 to all heads (for
/// binet-cauchy, a logarithm, -infinity; for distances, the value of their formula).
///
/// Metrics that are norms of products (pk, cka, cs, rope-cs, simple-cs, coupling) cost 2 d (h H)^2 flops in float for H
/// heads of width h; same-role pairs cost half of that. Angle metrics are computed in double, with one decomposition
/// per pair of heads.
///
/// Product metrics are computed by `context.affinity_engine`, or on the CPU if it is null; angle metrics always on the
/// CPU. Prepared sources count against the memory budget. If they do not fit, they are processed in chunks, and targets
/// are prepared again for each chunk.
///
/// Collective. Layers are assigned to ranks in zig-zag order. A rank reads and prepares its own layers and keeps as
/// many as fit in memory as sources, while the targets of all ranks pass around a ring. (For angle metrics, each rank
/// reads the targets of all layers instead.) Rank 0 gets the result; other ranks get nothing. A single process is rank
/// 0: its result is always set. The bits do not depend on ranks, threads or memory.
///
/// `finished` holds the blocks that an earlier run finished, which are not computed again, and receives the ones that
/// this run finishes. Null to store nothing.
///
/// \throws Error  kInvalidArgument if a metric is not defined for the model or a pair, a selected layer or head does
/// not exist, or a
///                named head is a KV head or outside the selected layers; kNumeric and kFormat as `Model::load_heads`.
[[nodiscard]] std::optional<std::vector<Affinities>> compute_affinities(const Model& model, Metric metric,
                                                                        std::span<const RolePair> pairs,
                                                                        const AffinityOptions& options = {},
                                                                        const Context& context = {},
                                                                        FinishedBlocks* finished = nullptr);

}  // namespace headscope
