#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/relate/affinity.h"
#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"
#include "headscope/relate/hubs.h"
#include "headscope/relate/informativeness.h"
#include "headscope/relate/label_scores.h"
#include "headscope/relate/labels.h"
#include "headscope/relate/null_model.h"
#include "headscope/relate/sensitivity.h"
#include "headscope/relate/token_profile.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct RelateOptions {
  std::vector<Metric> metrics = {Metric::kPk};  ///< The first one determines edges, graph and tree.
  std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};
  /// z of the first null determines strengths, and its q selects edges. Empty: all nulls defined for the first metric.
  std::vector<NullModel> nulls = {};
  std::size_t top = 20;                ///< Edges kept per role pair, ...
  std::optional<double> q_level = {};  ///< ... or, if set, all edges with q under the first null below this.
  std::optional<HeadLabels> labels = {};
  AffinityOptions affinity = {};
  MatchedOptions matched = {};
  BootstrapOptions bootstrap = {};  ///< Of the informativeness.
  bool sensitivity = false;         ///< Also compare the first metric with other weight processings.
};

/// How unusual one edge is under one null.
struct EdgeScore {
  double z = 0;
  double p = 0;
  double q = 0;
};

/// An affinity that was selected, from an earlier head to a later one.
struct Edge {
  RolePair pair;
  HeadId source;
  HeadId target;
  float score = 0;
  std::size_t rank = 0;               ///< Rank within its role pair; 1 is the closest pair of heads.
  std::vector<EdgeScore> nulls = {};  ///< In the order of RelateResult::nulls.
};

/// How well one metric finds pairs of labeled heads.
struct LabelRow {
  Metric metric;
  RolePair pair;
  LabelScores scores;
};

struct RelateResult {
  std::vector<NullModel> nulls;
  std::vector<NullMoments> matched;    ///< Per role pair, if that null was requested.
  std::vector<Affinities> affinities;  ///< By metric, then by role pair.
  std::vector<Edge> edges;             ///< By role pair, closest heads first.
  HeadGraph graph;                     ///< The edges, with all heads as nodes.
  GraphMeasures measures;
  std::vector<Hub> hubs;
  std::optional<PartitionTree> tree;  ///< Nested communities of the nodes, by the first metric. Always set.
  /// Per role pair, if pk was requested, there are edges and d_head < d_model.
  std::vector<Informativeness> informativeness;
  std::vector<Sensitivity> sensitivity;  ///< If requested and there is more than one layer.
  std::vector<LabelRow> labels;
  std::vector<ClassCounts> class_counts;  ///< Per metric: heads inside and outside of classes among the top edges.
  std::vector<std::string> warnings;      ///< Human-readable: rank-deficient heads, nothing to compare, ...
};

/// Finds which heads communicate, and whether more than by chance: affinities, null models, edges, graph, hubs,
/// communities, informativeness of role pairs, scores against labels. Metrics after the first skip the pairs they are
/// not defined for.
///
/// Collective: ranks share the affinities and the matched null; rank 0 does the rest and gets the result. Other ranks
/// get nothing. A single process is rank 0: its result is always set, so `relate(model).value()` is safe there. What
/// counts against the memory budget, the engine and `finished` are as in `compute_affinities`.
///
/// \throws Error  kInvalidArgument if there is no metric or pair, or the first metric is not defined for a pair, or a
///                null is not defined for the first metric; kFormat as `HeadLabels::check_against`; otherwise as
///                `compute_affinities`.
[[nodiscard]] std::optional<RelateResult> relate(const Model& model, const RelateOptions& options = {},
                                                 const Context& context = {}, FinishedBlocks* finished = nullptr);

/// Returns the subspaces worth a token profile: both ends of every edge, and all roles of the first `hubs` hubs.
/// Sorted, without duplicates; K and V are those of KV heads.
[[nodiscard]] std::vector<HeadRole> noteworthy_subspaces(const RelateResult& result, const HeadSizes& sizes,
                                                         std::size_t hubs = 3);

/// Returns every subspace of every head of the graph.
[[nodiscard]] std::vector<HeadRole> all_subspaces(const RelateResult& result, const HeadSizes& sizes);

}  // namespace headscope
