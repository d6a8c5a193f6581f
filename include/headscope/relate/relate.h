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
#include "headscope/relate/token_profile.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct RelateOptions {
  std::vector<Metric> metrics = {Metric::kPk};  ///< The first one makes edges, graph and tree.
  std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};
  /// The first one's z makes strengths and its q cuts edges. Empty: all that are defined for the first metric.
  std::vector<NullModel> nulls = {};
  std::size_t top = 20;                ///< Edges kept for every pair of roles ...
  std::optional<double> q_level = {};  ///< ... or instead all whose q under the first null is below this.
  const HeadLabels* labels = nullptr;
  AffinityOptions affinity = {};
  MatchedOptions matched = {};
  const AffinityEngine* engine = nullptr;  ///< What multiplies the heads; null: this machine's processors.
};

/// How unusual one edge is under one null.
struct EdgeScore {
  double z = 0;
  double p = 0;
  double q = 0;
};

/// An affinity that was kept, from an earlier head to a later one.
struct Edge {
  RolePair pair;
  HeadId source;
  HeadId target;
  float score = 0;
  std::size_t rank = 0;               ///< Within its pair of roles, from 1: the closest heads.
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
  std::vector<NullMoments> matched;    ///< By pair of roles, if that null was asked for.
  std::vector<Affinities> affinities;  ///< Metric by metric, pair by pair.
  std::vector<Edge> edges;             ///< Pair by pair, closest heads first.
  HeadGraph graph;                     ///< Of the edges, on all heads.
  GraphMeasures measures;
  std::vector<Hub> hubs;
  std::optional<PartitionTree> tree;  ///< Nested communities of the graph's nodes, from all affinities; always there.
  std::vector<Informativeness> informativeness;  ///< By pair of roles, if pk was asked for.
  std::vector<LabelRow> labels;
  std::vector<ClassCounts> class_counts;  ///< By metric: heads in and outside classes among the top edges.
  std::vector<std::string> warnings;      ///< For a person: rank-deficient heads, nothing to compare, ...
};

/// Which heads talk to which, and is it more than chance: affinities, null models,
/// edges, graph, hubs, communities, informativeness of role pairs, scores against labels.
/// Ranks share the affinities and the matched null; the rest is done by rank 0, whose result is the only one with
/// anything in it.
///
/// \throws Error  kInvalidArgument if there is no metric or pair, a metric is not defined for a
///                pair or a null for the first metric; as `compute_affinities` otherwise.
[[nodiscard]] RelateResult relate(const Model& model, const RelateOptions& options = {});

/// The subspaces worth a token profile: both ends of every edge, and all roles of the
/// first `hubs` hubs. Each once, sorted; K and V as those of KV heads.
[[nodiscard]] std::vector<HeadRole> noteworthy_subspaces(const RelateResult& result, const HeadSizes& sizes,
                                                         std::size_t hubs = 3);

/// Every subspace of every head of the graph.
[[nodiscard]] std::vector<HeadRole> all_subspaces(const RelateResult& result, const HeadSizes& sizes);

}  // namespace headscope
