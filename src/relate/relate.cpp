#include "headscope/relate/relate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/relate/edges.h"
#include "headscope/relate/hub_significance.h"
#include "headscope/relate/judgment.h"
#include "headscope/tree/flexible_tree.h"
#include "relate/later_pairs.h"
#include "relate/memory_plan.h"
#include "relate/work_plan.h"

namespace headscope {
namespace {

// Whether rounding to the type hides directions of real weights: less than 16 bits per weight.
bool is_quantized(DType stored) {
  const DTypeInfo& type = info(stored);
  return type.block_bytes < 2 * type.block_elements;
}

// Warns of heads whose rank is below their width, e.g. "Q: L1H2 (2 of 6), L3H0 (0 of 6)", and of quantization if a head
// that is not zero is stored so: its other singular values are below the rounding errors.
void warn_of_low_ranks(const Model& model, const Affinities& affinities, std::set<std::string>& seen,
                       std::vector<std::string>& warnings) {
  const auto look = [&](const AffinitySide& side, Role role) {
    constexpr std::size_t kNamed = 5;
    std::vector<std::string> low;
    std::set<std::string_view> quantized;
    for (std::size_t i = 0; i < side.heads.size(); ++i) {
      const std::size_t layer = model.info().sizes.layer_of(side.heads[i]).value();
      const std::size_t width = model.info().sizes.width(layer, role);
      if (side.ranks[i] >= width) continue;
      low.push_back(fmt::format("{} ({} of {})", to_string(side.heads[i]), side.ranks[i], width));
      const DType stored = model.stored_type(layer, role);
      if (side.ranks[i] > 0 && is_quantized(stored)) quantized.insert(info(stored).name);
    }
    if (low.empty() || !seen.insert(std::string(1, letter(role))).second) return;
    const std::size_t count = low.size();
    low.resize(std::min(count, kNamed));
    warnings.push_back(
        fmt::format("rank-deficient {} in role {}: {}{}", count == 1 ? "head" : "heads", letter(role),
                    fmt::join(low, ", "), count > kNamed ? fmt::format(" and {} more", count - kNamed) : "") +
        (quantized.empty() ? ""
                           : fmt::format("; quantization to {} hides directions below its rounding errors",
                                         fmt::join(quantized, ", "))));
  };
  look(affinities.source, affinities.pair.source);
  look(affinities.target, affinities.pair.target);
}

// The heads on both sides of all affinities, sorted.
std::vector<HeadId> all_heads(std::span<const Affinities> affinities) {
  std::set<HeadId> heads;
  for (const Affinities& one : affinities) {
    heads.insert(one.source.heads.begin(), one.source.heads.end());
    heads.insert(one.target.heads.begin(), one.target.heads.end());
  }
  return {heads.begin(), heads.end()};
}

HeadGraph graph_of(const std::vector<HeadId>& heads, Metric metric, std::span<const Edge> edges) {
  std::vector<HeadEdge> converted;
  const auto index = [&](HeadId id) {
    return static_cast<std::size_t>(std::ranges::lower_bound(heads, id) - heads.begin());
  };
  for (const Edge& edge : edges) {
    converted.push_back({index(edge.source), index(edge.target), to_string(edge.pair), static_cast<double>(edge.score),
                         similarity(metric, edge.score), edge.z, edge.beyond_chance, edge.stands_out});
  }
  return {heads, std::move(converted)};
}

// Builds a tree from the similarities, summed over role pairs and made symmetric; the diagonal is the largest of them.
PartitionTree communities(const std::vector<HeadId>& heads, std::span<const Affinities> affinities) {
  DoubleMatrix sum(heads.size(), heads.size());
  const auto index = [&](HeadId id) {
    return static_cast<std::size_t>(std::ranges::lower_bound(heads, id) - heads.begin());
  };
  double largest = 0;
  for (const Affinities& one : affinities) {
    for (std::size_t i = 0; i < one.source.heads.size(); ++i) {
      const std::size_t row = index(one.source.heads[i]);
      for (std::size_t j = 0; j < one.target.heads.size(); ++j) {
        const std::size_t column = index(one.target.heads[j]);
        if (row == column || std::isnan(one.values(i, j))) continue;
        double value = similarity(one.metric, one.values(i, j));
        const auto ranks = static_cast<double>(one.source.ranks[i] * one.target.ranks[j]);
        if (info(one.metric).factor == FactorKind::kBasis) value = ranks > 0 ? value / std::sqrt(ranks) : 0;
        sum(row, column) += value / 2;
        sum(column, row) += value / 2;
        largest = std::max({largest, sum(row, column)});
      }
    }
  }
  for (std::size_t i = 0; i < heads.size(); ++i) sum(i, i) = largest > 0 ? largest : 1;
  return flexible_tree(sum);
}

// A KV head is labeled if a query head that uses it is.
bool is_labeled(const HeadLabels& labels, HeadId id, const HeadSizes& sizes) {
  if (!id.key_value) return labels.is_labeled(id);
  const std::size_t share = sizes.queries_per_kv(sizes.layer_of(id).value());
  for (std::size_t i = 0; i < share; ++i) {
    if (labels.is_labeled({id.layer, id.head * share + i, false, id.block})) return true;
  }
  return labels.is_labeled(id);
}

LabelScores label_scores(const Affinities& affinities, const HeadLabels& labels, const HeadSizes& sizes,
                         std::size_t top) {
  std::vector<ScoredPair> pairs;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    // A logarithm may be -infinity; only its order matters.
    const double value = std::max(static_cast<double>(affinities.values(i, j)), -1e300);
    pairs.push_back(
        {info(affinities.metric).distance ? -value : value, is_labeled(labels, affinities.source.heads[i], sizes) &&
                                                                is_labeled(labels, affinities.target.heads[j], sizes)});
  });
  return score_labels(pairs, top);
}

// Heads inside and outside of classes among the closest pairs of one metric.
ClassCounts class_counts(Metric metric, const RelateResult& result, const RelateOptions& options) {
  std::vector<Edge> edges;
  for (const Affinities& one : result.affinities) {
    if (one.metric != metric) continue;
    for (Edge& edge : select_edges(one, nullptr, 0, options.top, {})) edges.push_back(std::move(edge));
  }
  return count_heads(graph_of(all_heads(result.affinities), metric, edges), *options.labels, options.top);
}

void check(const RelateOptions& options) {
  if (options.metrics.empty() || options.pairs.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "relate: expected at least one metric and one pair of roles");
  }
}

// The number of edges that a q-level selects is known only now.
void check_edges(std::span<const Judgment> judgments, const RelateOptions& options, const RelateMemory& memory,
                 const Context& context) {
  if (!options.q_level) return;
  const double log10_level = std::log10(*options.q_level);
  std::size_t edges = 0;
  for (const Judgment& judgment : judgments) {
    edges += static_cast<std::size_t>(std::ranges::count_if(
        judgment.log10_q.values(), [&](float q) { return static_cast<double>(q) <= log10_level; }));
  }
  if (edges == 0) return;
  const std::size_t taken = saturating_add(memory.results, std::max(memory.judgment, memory.communities));
  require_memory(context.without_memory(taken), saturating_multiply(edges, kEdgeBytes),
                 fmt::format("relate: keeping the {} edges up to the q-level", edges));
}

// Selects the edges, and builds and measures the graph. Everything that follows from the judgments.
void add_graph(std::span<const Affinities> primary, const NullPlan& plan, std::span<const Judgment> judgments,
               const RelateOptions& options, RelateResult& result) {
  std::vector<HubEvidence> evidence;
  for (std::size_t p = 0; p < primary.size(); ++p) {
    const Judgment& judgment = judgments[p];
    std::ranges::move(select_edges(primary[p], &judgment, plan.shown.size(), options.top, options.q_level),
                      std::back_inserter(result.edges));
    const Affinities& affinities = primary[p];
    const std::vector<HeadId>& sources = primary[p].source.heads;
    const std::vector<HeadId>& targets = primary[p].target.heads;
    evidence.push_back({{sources.begin(), sources.end()},
                        {targets.begin(), targets.end()},
                        [&judgment, &affinities](std::size_t i, std::size_t j) {
                          const bool linked = is_later(affinities, i, j) && judgment.beyond_chance(i, j);
                          return linked ? judgment.z(i, j) : 0.0F;
                        }});
  }
  result.wiring = count_wiring(primary, judgments);
  result.graph = graph_of(all_heads(primary), options.metrics.front(), result.edges);
  result.measures = measure_graph(result.graph);
  result.hubs = rank_hubs(result.graph, result.measures);
  test_hubs(evidence, result.graph.nodes(), result.hubs, {.seed = options.matched.seed});
}

}  // namespace

std::size_t check_relate_memory(const Model& model, const RelateOptions& options, const Context& context) {
  check(options);
  const RelateMemory memory = relate_memory(model.info(), options, context.ranks.get().size());
  require_memory(context, memory.needed(), fmt::format("relate: comparing {} heads", memory.heads));
  return memory.results;
}

std::optional<RelateResult> relate(const Model& model, const RelateOptions& options, const Context& context,
                                   FinishedBlocks* finished) {
  check(options);
  for (const Metric metric : options.metrics) check_metric(model, metric);
  if (options.sensitivity) require_one_block(model, "--sensitivity");
  const HeadSizes& sizes = model.info().sizes;
  if (options.labels) options.labels->check_against(sizes);
  const RelateMemory memory = relate_memory(model.info(), options, context.ranks.get().size());
  require_memory(context, memory.needed(), fmt::format("relate: comparing {} heads", memory.heads));
  const Context streaming = context.without_memory(saturating_add(memory.results, memory.engine));
  RelateResult result;
  const NullPlan plan = plan_nulls(options);
  result.nulls = plan.shown;
  result.headline = plan.headline;

  const std::size_t variants = options.sensitivity && sizes.layers > 1 ? sensitivity_variants(model.info()) : 0;
  const std::vector<Context> stages =
      split_by_work(streaming, plan_work(sizes, options, plan.used, finished, variants));
  for (std::size_t m = 0; m < options.metrics.size(); ++m) {
    std::vector<RolePair> pairs = options.pairs;
    if (m > 0) std::erase_if(pairs, [&](RolePair pair) { return !is_defined(options.metrics[m], pair); });
    auto found = compute_affinities(model, options.metrics[m], pairs, options.affinity, stages[m], finished);
    if (found) std::ranges::move(*found, std::back_inserter(result.affinities));
  }
  if (plan.uses(NullModel::kMatched)) {
    auto matched = matched_laws(model, options.metrics.front(), options.pairs, options.affinity, options.matched,
                                stages[options.metrics.size()]);
    if (matched) result.matched = std::move(*matched);
  }
  if (variants > 0) {
    auto compared = sensitivity(model, options.metrics.front(), options.pairs, result.affinities, options.affinity,
                                options.top, stages[stages.size() - 2]);
    if (compared) result.sensitivity = std::move(*compared);
  }
  if (!context.ranks.get().is_root()) return std::nullopt;
  const std::span<const Affinities> primary = std::span(result.affinities).first(options.pairs.size());
  std::set<std::string> seen;
  for (const Affinities& one : primary) warn_of_low_ranks(model, one, seen, result.warnings);

  std::ranges::move(judgment_warnings(primary, plan), std::back_inserter(result.warnings));

  const std::size_t dimension = isotropic_dimension(model.info(), options.affinity.weights);
  {
    const std::vector<Judgment> judgments = judge(primary, plan, dimension, result.matched);
    check_edges(judgments, options, memory, context);
    add_graph(primary, plan, judgments, options, result);
  }
  if (result.edges.empty()) {
    result.warnings.push_back(sizes.layers < 2 ? "the model has one layer: no head is earlier than another, so there "
                                                 "are no edges"
                                               : "no pair of heads was kept: there are no edges");
  }

  result.tree = communities(all_heads(primary), primary);
  stages.back().report(1);

  for (const Affinities& one : result.affinities) {
    const std::size_t source = sizes.width(one.pair.source);
    const std::size_t target = sizes.width(one.pair.target);
    const bool fills = std::max(source, target) >= dimension;
    const bool one_law = sizes.by_layer.empty() || sizes.one_width();  // of random heads
    if (one.metric == Metric::kPk && sizes.layers > 1 && !result.edges.empty() && !fills && one_law) {
      result.informativeness.push_back(informativeness(one, dimension, source, target, options.bootstrap));
    }
    if (options.labels) {
      result.labels.push_back({one.metric, one.pair, label_scores(one, *options.labels, sizes, options.top)});
    }
  }
  if (options.labels) {
    for (const Metric metric : options.metrics) result.class_counts.push_back(class_counts(metric, result, options));
  }
  return result;
}

namespace {

// The head that owns the role's matrix: with grouped queries, K and V belong to the KV head.
HeadRole native(HeadId id, Role role, const HeadSizes& sizes) {
  if (is_key_value(role) && !id.key_value && sizes.kv_heads != sizes.heads) {
    const std::size_t layer = sizes.layer_of(id).value();
    id = sizes.head_of(sizes.kv_layer(layer), id.head / sizes.queries_per_kv(layer), /*key_value=*/true);
  }
  return {id, role};
}

// Whether a node of the graph has the role: KV heads have no Q and O.
bool has_role(HeadId id, Role role) {
  return !id.key_value || is_key_value(role);
}

std::vector<HeadRole> sorted(const std::set<std::pair<HeadId, Role>>& found) {
  std::vector<HeadRole> subspaces;
  for (const auto& [head, role] : found) subspaces.push_back({head, role});
  return subspaces;
}

}  // namespace

std::vector<HeadRole> noteworthy_subspaces(const RelateResult& result, const HeadSizes& sizes, std::size_t hubs) {
  std::set<std::pair<HeadId, Role>> found;
  const auto add = [&](HeadId id, Role role) {
    const HeadRole subspace = native(id, role, sizes);
    found.insert({subspace.head, subspace.role});
  };
  for (const Edge& edge : result.edges) {
    add(edge.source, edge.pair.source);
    add(edge.target, edge.pair.target);
  }
  for (std::size_t i = 0; i < std::min(hubs, result.hubs.size()) && result.hubs[i].significant; ++i) {
    const HeadId id = result.graph.nodes()[result.hubs[i].node].head_id();
    for (const Role role : kRoles) {
      if (has_role(id, role)) add(id, role);
    }
  }
  return sorted(found);
}

std::vector<HeadRole> all_subspaces(const RelateResult& result, const HeadSizes& sizes) {
  std::set<std::pair<HeadId, Role>> found;
  for (const ComponentId& node : result.graph.nodes()) {
    for (const Role role : kRoles) {
      if (!has_role(node.head_id(), role)) continue;
      const HeadRole subspace = native(node.head_id(), role, sizes);
      found.insert({subspace.head, subspace.role});
    }
  }
  return sorted(found);
}

}  // namespace headscope
