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
  /// Nulls of which every edge gets z, p and q. Empty: all that are defined for the first metric. Isotropic and span
  /// are computed in any case if they are defined, because `Edge::beyond_chance` and `stands_out` rest on them.
  std::vector<NullModel> nulls = {};
  std::size_t top = 20;                ///< Edges kept per role pair, ...
  std::optional<double> q_level = {};  ///< ... or, if set, all edges with `Edge::q` at most this.
  std::optional<HeadLabels> labels = {};
  AffinityOptions affinity = {};
  MatchedOptions matched = {};
  BootstrapOptions bootstrap = {};  ///< Of the informativeness.
  bool sensitivity = false;         ///< Also compare the first metric with other weight processings.
};

/// How unusual one edge is under one null.
struct EdgeScore {
  double z = 0;
  double p = 1;  ///< At least `kSmallestP`; `log10_p` has the value.
  double q = 1;  ///< Within the role pair; at least `kSmallestP`.
  double log10_p = 0;
  PairNull null = {};  ///< What the score was compared with.
};

/// An affinity that was selected, from an earlier head to a later one.
struct Edge {
  RolePair pair;
  HeadId source;
  HeadId target;
  float score = 0;
  std::size_t rank = 0;  ///< Rank within its role pair: by score among the edges beyond chance, then among the others.
  std::vector<EdgeScore> nulls = {};  ///< In the order of RelateResult::nulls.
  double z = 0;                       ///< Under RelateResult::headline.
  /// q (Benjamini and Yekutieli) of the larger p of isotropic and matched, over all pairs of heads of all role pairs;
  /// at least `kSmallestP`.
  double q = 1;
  bool beyond_chance = false;  ///< q <= 0.05.
  bool stands_out = false;     ///< Beyond chance, and q <= 0.05 under span.
};

/// How many pairs of heads are beyond chance.
struct WiringCount {
  std::optional<RolePair> pair = {};  ///< Absent: all role pairs together.
  std::size_t pairs = 0;              ///< Earlier-to-later pairs of heads.
  std::size_t beyond_chance = 0;
  std::size_t stands_out = 0;
};

/// How well one metric finds pairs of labeled heads.
struct LabelRow {
  Metric metric;
  RolePair pair;
  LabelScores scores;
};

struct RelateResult {
  std::vector<NullModel> nulls;
  NullModel headline = NullModel::kSpan;  ///< The null of Edge::z and of strengths: matched if it was used, else span.
  std::vector<WiringCount> wiring;        ///< Per role pair, then all together.
  std::vector<MatchedLaw> matched;        ///< Per role pair, if that null was used.
  std::vector<Affinities> affinities;     ///< By metric, then by role pair.
  std::vector<Edge> edges;                ///< By role pair, then by rank.
  HeadGraph graph;                        ///< The edges, with all heads as nodes.
  GraphMeasures measures;
  std::vector<Hub> hubs;
  std::optional<PartitionTree> tree;  ///< Nested communities of the nodes, by the first metric. Always set.
  /// Per role pair, if pk was requested, there are edges and heads do not fill the space.
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
/// A pair of heads is beyond chance if q <= 0.05 under isotropic and under matched, as far as they are defined for the
/// metric and were used: the larger p counts, and it is corrected over all pairs of heads of all role pairs of the
/// call, for tests that depend on each other (Benjamini and Yekutieli). It stands out if, in addition, q <= 0.05 under
/// span: it is unusual among the pairs of its own roles and layer distance. Span alone decides nothing, because it
/// rejects everything where a third of a class is real.
///
/// Collective: ranks share the affinities and the matched null; rank 0 does the rest and gets the result. Other ranks
/// get nothing. A single process is rank 0: its result is always set, so `relate(model).value()` is safe there. The
/// engine and `finished` are as in `compute_affinities`.
///
/// Everything counts against the memory budget: results and judgments, which grow with the square of the number of
/// heads, draws of the matched null, prepared layers. What is left after the results is used to prepare as many layers
/// at a time as fit.
///
/// \throws Error  kInvalidArgument if there is no metric or pair, or the first metric is not defined for a pair, or a
///                null is not defined for the first metric; kFormat as `HeadLabels::check_against`; otherwise as
///                `compute_affinities`; kResource, before anything is computed, if the budget is too small, and after
///                the comparison, if the edges that `q_level` selects do not fit.
[[nodiscard]] std::optional<RelateResult> relate(const Model& model, const RelateOptions& options = {},
                                                 const Context& context = {}, FinishedBlocks* finished = nullptr);

/// Checks that the memory of the context is enough for `relate`. Returns how much of it the result takes.
/// \throws Error  kResource with the memory that is needed; kInvalidArgument as `relate`.
std::size_t check_relate_memory(const Model& model, const RelateOptions& options, const Context& context);

/// Returns the subspaces worth a token profile: both ends of every edge, and all roles of the first
/// `hubs` significant hubs.
/// Sorted, without duplicates; K and V are those of KV heads.
[[nodiscard]] std::vector<HeadRole> noteworthy_subspaces(const RelateResult& result, const HeadSizes& sizes,
                                                         std::size_t hubs = 3);

/// Returns every subspace of every head of the graph.
[[nodiscard]] std::vector<HeadRole> all_subspaces(const RelateResult& result, const HeadSizes& sizes);

}  // namespace headscope
