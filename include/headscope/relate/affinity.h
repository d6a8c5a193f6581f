#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/ranks.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"
#include "headscope/relate/affinity_engine.h"
#include "headscope/relate/finished_blocks.h"
#include "headscope/relate/metric.h"

namespace headscope {

/// The heads on one side of a pair, layer by layer.
struct AffinitySide {
  std::vector<HeadId> heads;
  std::vector<std::size_t> ranks;    ///< Of their subspaces.
  std::vector<GramMoments> moments;  ///< Of their factors, for the isotropic null; empty for metrics of angles.
};

/// One metric between all heads of one role and all heads of another.
struct Affinities {
  Metric metric = Metric::kPk;
  RolePair pair = {};
  AffinitySide source = {};
  AffinitySide target = {};
  Matrix values = {};  ///< Rows are sources, columns targets. NaN where it was not asked for.
};

struct AffinityOptions {
  WeightProcessing weights = WeightProcessing::kFolded;
  /// Only pairs whose source layer is smaller than the target's; the others cost nothing.
  bool earlier_only = false;
  std::vector<std::size_t> layers = {};  ///< Only these; all if empty.
  /// Only these query heads of each layer, and the KV heads they use; all if this and `named_heads` are empty.
  std::vector<std::size_t> heads = {};
  std::vector<HeadId> named_heads = {};  ///< Single query heads, besides `heads`.
  /// Bytes that prepared heads may take (of each rank). Below what the model needs, heads are
  /// prepared again for each part of the sources that fits.
  std::size_t memory = std::size_t{1} << 30;
  /// Called now and then with the share of the work that is done, from the calling
  /// thread; may throw to stop.
  std::function<void(double)> progress = {};
  /// With whom the work is shared; null: nobody. All ranks make the same call.
  Ranks* ranks = nullptr;
  /// What an earlier run has finished, and where this one keeps what it finishes; null: nothing is kept.
  FinishedBlocks* finished = nullptr;
};

/// Affinities of every pair asked for. Heads of rank 0 have affinity 0 to all
/// (binet-cauchy, a logarithm: -infinity; the distances: as their formulas say).
///
/// Metrics that are norms of products (pk, cka, cs, simple-cs) cost 2 d (h H)^2
/// flops in float for H heads of width h; same-role pairs half of that. Metrics of
/// angles are computed in double, with a decomposition for every pair of heads.
///
/// Layers are dealt out to the ranks to and fro. A rank reads and prepares its own and keeps as many as its memory
/// holds, as sources, while the targets of all ranks pass by around a ring. (For metrics of angles a rank reads
/// the targets of all layers instead.) Rank 0 gets everything; on the others `values` is empty. The bits depend neither
/// on ranks nor threads nor memory.
///
/// \throws Error  kInvalidArgument if a metric is not defined for a pair, or a
///                chosen layer or head does not exist, or a named head is a KV head or
///                outside the chosen layers; kNumeric and kFormat as
///                `Model::load_heads`.
[[nodiscard]] std::vector<Affinities> compute_affinities(const Model& model, Metric metric,
                                                         std::span<const RolePair> pairs,
                                                         const AffinityOptions& options = {},
                                                         const AffinityEngine& engine = *cpu_affinity_engine());

}  // namespace headscope
