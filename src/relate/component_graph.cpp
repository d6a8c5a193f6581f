#include "headscope/relate/component_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "headscope/base/median.h"
#include "headscope/base/parallel.h"
#include "headscope/base/tails.h"
#include "headscope/relate/hub_significance.h"
#include "headscope/relate/judgment.h"
#include "headscope/relate/null_judge.h"
#include "relate/benjamini_hochberg.h"

namespace headscope {
namespace {

constexpr double kLn10 = 2.302585092994046;

// Median and robust deviation of a class of overlaps.
struct Class {
  double median = 0;
  double deviation = 0;  // 0: too few members to say anything
};

Class class_of(std::vector<double> values) {
  if (values.size() < kSmallSpanClass) return {};
  Class one{median(values), 0};
  for (double& value : values) value = std::abs(value - one.median);
  one.deviation = 1.4826 * median(std::move(values));
  return one;
}

// What the nulls say about all pairs of one pair of sides.
class PairJudgment {
 public:
  PairJudgment(const Overlaps& overlaps, const ComponentScores& scores, std::size_t layers, std::size_t dimension)
      : source_(overlaps.sources[scores.source]),
        target_(overlaps.targets[scores.target]),
        scores_(scores),
        d_(static_cast<double>(overlaps.d)),
        layers_(layers),
        dimension_(dimension) {
    for (std::size_t i = 0; i < scores.overlap.rows(); ++i) {
      for (std::size_t j = 0; j < scores.overlap.columns(); ++j) {
        if (!std::isnan(scores.overlap(i, j))) pairs_.push_back({i, j});
      }
    }
    find_classes();
    log10_p_.resize(pairs_.size());
    z_span_.resize(pairs_.size());
    std::vector<float> span(pairs_.size());
    parallel_for(pairs_.size(), [&](std::size_t k) {
      log10_p_[k] = static_cast<float>(isotropic(k).log_p / kLn10);
      z_span_[k] = static_cast<float>(span_z(k));
      span[k] = static_cast<float>(log_normal_upper_tail(static_cast<double>(z_span_[k])) / kLn10);
    });
    log10_q_isotropic_ = log10_q_values(log10_p_);
    log10_q_span_ = log10_q_values(std::move(span));
  }

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }
  [[nodiscard]] const std::vector<float>& log10_p() const noexcept { return log10_p_; }
  /// Takes q over the pairs of all sides.
  void set_joint_q(std::vector<float> log10_q) { log10_q_ = std::move(log10_q); }

  [[nodiscard]] bool beyond_chance(std::size_t k) const noexcept { return is_small(log10_q_[k]) && !is_empty(k); }
  [[nodiscard]] bool stands_out(std::size_t k) const noexcept {
    return beyond_chance(k) && z_span_[k] > 0 && is_small(log10_q_span_[k]);
  }
  [[nodiscard]] float overlap(std::size_t k) const noexcept { return scores_.overlap(pairs_[k].row, pairs_[k].column); }
  /// Whether one of the two is zero.
  [[nodiscard]] bool is_empty(std::size_t k) const noexcept {
    return source_.moments[pairs_[k].row].trace == 0 || target_.moments[pairs_[k].column].trace == 0;
  }

  [[nodiscard]] ComponentEdge edge(std::size_t k, std::string pair, std::size_t rank) const {
    const auto [i, j] = pairs_[k];
    const double z = static_cast<double>(z_span_[k]);
    const double span = log_normal_upper_tail(z) / kLn10;
    const auto p = static_cast<double>(log10_p_[k]);
    ComponentEdge edge{std::move(pair), source_.nodes[i], target_.nodes[j], overlap(k)};
    if (!std::isnan(scores_.pk(i, j))) edge.pk = scores_.pk(i, j);
    edge.rank = rank;
    edge.isotropic = {isotropic(k).z, shown_p(p), shown_p(static_cast<double>(log10_q_isotropic_[k])), p};
    edge.span = {z, shown_p(span), shown_p(static_cast<double>(log10_q_span_[k])), span};
    edge.q = shown_p(static_cast<double>(log10_q_[k]));
    edge.beyond_chance = beyond_chance(k);
    edge.stands_out = stands_out(k);
    return edge;
  }

  /// The best pairs: those beyond chance first, then by overlap; or all with q at most a level.
  [[nodiscard]] std::vector<std::size_t> best(std::size_t top, std::optional<double> q_level) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const bool is_kept = !q_level || static_cast<double>(log10_q_[k]) <= std::log10(*q_level);
      if (is_kept && !is_empty(k)) found.push_back(k);
    }
    const std::size_t count = q_level ? found.size() : std::min(top, found.size());
    const auto is_before = [&](std::size_t a, std::size_t b) {
      if (beyond_chance(a) != beyond_chance(b)) return beyond_chance(a);
      return overlap(a) != overlap(b) ? overlap(a) > overlap(b) : a < b;
    };
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(count), is_before);
    found.resize(count);
    return found;
  }

  /// z under span of all pairs beyond chance, for the test of hubs.
  [[nodiscard]] HubEvidence evidence() const {
    Matrix z(scores_.overlap.rows(), scores_.overlap.columns());
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      if (beyond_chance(k)) z(pairs_[k].row, pairs_[k].column) = z_span_[k];
    }
    return {source_.nodes, target_.nodes, [z = std::move(z)](std::size_t i, std::size_t j) { return z(i, j); }};
  }

 private:
  struct Place {
    std::size_t row;
    std::size_t column;
  };

  static bool is_small(float log10_q) noexcept { return static_cast<double>(log10_q) <= std::log10(kChanceLevel); }

  [[nodiscard]] std::size_t distance(std::size_t k) const {
    const ComponentId& target = target_.nodes[pairs_[k].column];
    const std::size_t depth = target.kind == ComponentKind::kUnembedding ? layers_ + 1 : target.depth();
    return depth - source_.nodes[pairs_[k].row].depth();
  }

  void find_classes() {
    std::map<std::size_t, std::vector<double>> by_distance;
    std::vector<double> all;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      if (is_empty(k)) continue;
      by_distance[distance(k)].push_back(static_cast<double>(overlap(k)));
      all.push_back(static_cast<double>(overlap(k)));
    }
    const Class pooled = class_of(std::move(all));
    for (auto& [distance, values] : by_distance) {
      classes_[distance] = values.size() < kSmallSpanClass ? pooled : class_of(std::move(values));
    }
  }

  [[nodiscard]] double span_z(std::size_t k) const {
    const auto found = classes_.find(distance(k));
    if (is_empty(k) || found == classes_.end() || !(found->second.deviation > 0)) return 0;
    return (static_cast<double>(overlap(k)) - found->second.median) / found->second.deviation;
  }

  [[nodiscard]] Judged isotropic(std::size_t k) const {
    const auto [i, j] = pairs_[k];
    if (is_empty(k)) return {};
    const double value = static_cast<double>(scores_.overlap(i, j)) / d_;
    if (source_.nodes[i].is_head() && target_.nodes[j].is_head()) {
      const std::size_t p = source_.ranks[i].value_or(0);
      const std::size_t q = target_.ranks[j].value_or(0);
      return judge_pk(value * static_cast<double>(p) * static_cast<double>(q), p, q, dimension_,
                      isotropic_moments(projector_moments(p), projector_moments(q), dimension_));
    }
    const NullMoments moments = isotropic_moments(source_.moments[i], target_.moments[j], dimension_);
    if (!(moments.deviation > 0)) return {};
    const double z = (value - moments.mean) / moments.deviation;
    return {z, log_pearson3_upper_tail(z, std::max(0.0, moments.skewness))};
  }

  const ComponentSide& source_;
  const ComponentSide& target_;
  const ComponentScores& scores_;
  double d_;
  std::size_t layers_;
  std::size_t dimension_;
  std::vector<Place> pairs_;
  std::map<std::size_t, Class> classes_;
  std::vector<float> log10_p_;
  std::vector<float> z_span_;
  std::vector<float> log10_q_isotropic_;
  std::vector<float> log10_q_span_;
  std::vector<float> log10_q_;
};

void fill_joint_q(std::vector<PairJudgment>& judgments) {
  std::vector<float> all;
  for (const PairJudgment& one : judgments) all.insert(all.end(), one.log10_p().begin(), one.log10_p().end());
  all = log10_q_values_if_dependent(std::move(all));
  auto next = all.cbegin();
  for (PairJudgment& one : judgments) {
    const auto end = next + static_cast<std::ptrdiff_t>(one.size());
    one.set_joint_q({next, end});
    next = end;
  }
}

std::vector<ComponentId> nodes_of(const Overlaps& overlaps) {
  std::vector<ComponentId> nodes;
  for (const auto* sides : {&overlaps.sources, &overlaps.targets}) {
    for (const ComponentSide& side : *sides) nodes.insert(nodes.end(), side.nodes.begin(), side.nodes.end());
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

HeadGraph graph_of(std::vector<ComponentId> nodes, std::span<const ComponentEdge> edges) {
  const auto index = [&](const ComponentId& id) {
    return static_cast<std::size_t>(std::ranges::lower_bound(nodes, id) - nodes.begin());
  };
  std::vector<HeadEdge> converted;
  for (const ComponentEdge& edge : edges) {
    const auto overlap = static_cast<double>(edge.overlap);
    converted.push_back({index(edge.source), index(edge.target), edge.pair, overlap, overlap, edge.span.z,
                         edge.beyond_chance, edge.stands_out});
  }
  return HeadGraph::of_components(std::move(nodes), std::move(converted));
}

// pk of the pairs that start with O: from what relate has computed, or computed now.
std::vector<Affinities> head_affinities(const Model& model, const RelateOptions& options,
                                        std::span<const Affinities> affinities, const Context& context) {
  std::vector<RolePair> pairs;
  for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
    const RolePair pair{Role::kO, role};
    if (std::ranges::find(options.pairs, pair) != options.pairs.end()) pairs.push_back(pair);
  }
  std::vector<Affinities> found;
  for (const RolePair pair : pairs) {
    const auto one = std::ranges::find_if(
        affinities, [&](const Affinities& other) { return other.metric == Metric::kPk && other.pair == pair; });
    if (one == affinities.end()) break;
    found.push_back(*one);
  }
  if (found.size() == pairs.size()) return found;
  AffinityOptions earlier = options.affinity;
  earlier.earlier_only = true;
  return compute_affinities(model, Metric::kPk, pairs, earlier, context).value();
}

std::vector<PairJudgment> judge(const Model& model, const Overlaps& overlaps, const RelateOptions& options) {
  const std::size_t dimension = isotropic_dimension(model.info(), options.affinity.weights);
  std::vector<PairJudgment> judgments;
  for (const ComponentScores& scores : overlaps.scores) {
    judgments.emplace_back(overlaps, scores, model.info().sizes.layers, dimension);
  }
  fill_joint_q(judgments);
  return judgments;
}

void count_wiring(std::span<const PairJudgment> judgments, ComponentGraph& result) {
  ComponentCount all{"all"};
  for (std::size_t s = 0; s < judgments.size(); ++s) {
    ComponentCount one{result.overlaps.pair_name(result.overlaps.scores[s])};
    for (std::size_t k = 0; k < judgments[s].size(); ++k) {
      one.beyond_chance += judgments[s].beyond_chance(k) ? 1 : 0;
      one.stands_out += judgments[s].stands_out(k) ? 1 : 0;
    }
    one.pairs = judgments[s].size();
    all.pairs += one.pairs;
    all.beyond_chance += one.beyond_chance;
    all.stands_out += one.stands_out;
    result.wiring.push_back(std::move(one));
  }
  result.wiring.push_back(std::move(all));
}

}  // namespace

ComponentGraph relate_components(const Model& model, const ComponentChoice& choice, const RelateOptions& options,
                                 std::span<const Affinities> affinities, const Context& context) {
  ComponentGraph result;
  const std::vector<Affinities> heads = head_affinities(model, options, affinities, context.part(0, 0.2));
  result.overlaps = compute_overlaps(model, choice, heads, options.affinity, context.part(0.2, 1));
  result.warnings = result.overlaps.warnings;
  result.warnings.emplace_back(
      "components: beyond_chance rests on the isotropic null alone, because overlap has no matched null; in a trained "
      "model, most pairs are beyond it");
  const std::vector<PairJudgment> judgments = judge(model, result.overlaps, options);
  count_wiring(judgments, result);
  std::vector<HubEvidence> evidence;
  for (std::size_t s = 0; s < judgments.size(); ++s) {
    const std::string pair = result.overlaps.pair_name(result.overlaps.scores[s]);
    std::size_t rank = 0;
    for (const std::size_t k : judgments[s].best(options.top, options.q_level)) {
      result.edges.push_back(judgments[s].edge(k, pair, ++rank));
    }
    evidence.push_back(judgments[s].evidence());
  }
  result.graph = graph_of(nodes_of(result.overlaps), result.edges);
  result.measures = measure_graph(result.graph);
  result.hubs = rank_hubs(result.graph, result.measures);
  test_hubs(evidence, result.graph.nodes(), result.hubs, {.seed = options.matched.seed});
  return result;
}

std::vector<ComponentEdge> judge_heads_to_components(const Model& model, const ComponentChoice& choice,
                                                     const RelateOptions& options, const Context& context) {
  const Overlaps overlaps = compute_overlaps(model, choice, {}, options.affinity, context);
  const std::vector<PairJudgment> judgments = judge(model, overlaps, options);
  std::vector<ComponentEdge> edges;
  for (std::size_t s = 0; s < judgments.size(); ++s) {
    if (overlaps.sources[overlaps.scores[s].source].letter != 'O') continue;
    std::size_t rank = 0;
    for (const std::size_t k : judgments[s].best(judgments[s].size(), {})) {
      edges.push_back(judgments[s].edge(k, overlaps.pair_name(overlaps.scores[s]), ++rank));
    }
  }
  return edges;
}

}  // namespace headscope
