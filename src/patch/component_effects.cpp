#include "headscope/patch/component_effects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/random.h"
#include "headscope/model/network.h"
#include "headscope/relate/component_graph.h"

namespace headscope {
namespace {

constexpr std::array kKinds = {ComponentKind::kMlp, ComponentKind::kUnembedding};

using Ends = std::pair<ComponentId, ComponentId>;

std::vector<ComponentEdge> edges_from_heads(const Model& model, const ComponentRequest& request,
                                            const Context& context) {
  const auto wants = [&](ComponentKind kind) {
    return std::ranges::find(request.targets, kind) != request.targets.end() ||
           std::ranges::any_of(request.given, [&](const ComponentCut& cut) { return cut.target.kind == kind; });
  };
  RelateOptions options;
  options.affinity.weights = request.weights;
  return judge_heads_to_components(
      model, {.mlp = wants(ComponentKind::kMlp), .unembedding = wants(ComponentKind::kUnembedding)}, options, context);
}

void require_edges(const ComponentRequest& request, std::span<const ComponentEdge> edges) {
  for (const ComponentKind kind : request.given.empty() ? request.targets : std::vector<ComponentKind>()) {
    if (std::ranges::any_of(edges, [&](const ComponentEdge& edge) { return edge.target.kind == kind; })) continue;
    throw Error(
        ErrorKind::kUnsupported,
        kind == ComponentKind::kMlp
            ? "--nodes mlp: the model has no MLPs, or their weights are zero"
            : "--nodes unembedding: the unembedding of this model cannot be compared with heads, so no edges to "
              "it can be chosen; name them with --edges");
  }
}

// Other heads of the source's layer into the same target, at random.
void add_controls(const MeasuredCut& original, const HeadSizes& sizes, std::size_t count, Random& random,
                  std::vector<ComponentCut>& taken, std::vector<MeasuredCut>& chosen) {
  std::vector<ComponentCut> free;
  for (std::size_t head = 0; head < sizes.heads; ++head) {
    ComponentCut cut = original.cut;
    cut.source.head = head;
    if (std::ranges::find(taken, cut) == taken.end()) free.push_back(cut);
  }
  for (std::size_t k = 0; k < count && !free.empty(); ++k) {
    const auto drawn = free.begin() + static_cast<std::ptrdiff_t>(random.index(free.size()));
    taken.push_back(*drawn);
    chosen.push_back({.cut = *drawn, .kind = EdgeKind::kControl});
    free.erase(drawn);
  }
}

// The chosen cuts into one kind of target, and their controls.
std::vector<MeasuredCut> choose(ComponentKind kind, const ComponentRequest& request, const HeadSizes& sizes,
                                std::span<const ComponentEdge> edges) {
  std::vector<MeasuredCut> chosen;
  if (request.given.empty()) {
    if (std::ranges::find(request.targets, kind) == request.targets.end()) return {};
    for (const ComponentEdge& edge : edges) {  // by rank
      if (chosen.size() == request.choice.top) break;
      if (edge.target.kind == kind) {
        chosen.push_back({.cut = {edge.source.head_id(), edge.target}, .kind = EdgeKind::kTop});
      }
    }
  } else {
    for (const ComponentCut& cut : request.given) {
      if (cut.target.kind == kind) chosen.push_back({.cut = cut, .kind = EdgeKind::kGiven});
    }
  }
  std::vector<ComponentCut> taken;
  for (const MeasuredCut& one : chosen) taken.push_back(one.cut);
  Random random(request.choice.seed, {static_cast<std::uint64_t>(kind)});
  const std::vector<MeasuredCut> originals = chosen;
  for (const MeasuredCut& one : originals) {
    add_controls(one, sizes, request.choice.controls, random, taken, chosen);
  }
  return chosen;
}

ComponentAgreement compare_kind(ComponentKind kind, std::span<MeasuredCut> cuts, std::uint64_t seed) {
  std::vector<double> chosen;
  std::vector<double> controls;
  std::vector<double> sizes;
  std::vector<double> overlaps;
  std::vector<double> z;
  for (const MeasuredCut& one : cuts) {
    const double size = std::abs(*one.effect);
    (one.kind == EdgeKind::kControl ? controls : chosen).push_back(size);
    sizes.push_back(size);
    overlaps.push_back(one.overlap);
    z.push_back(one.z);
  }
  const double level = control_level(controls);
  ComponentAgreement found{compare_effects(chosen, controls, level, Random(seed, {static_cast<std::uint64_t>(kind)}))};
  found.target = kind;
  const bool compared = std::ranges::none_of(overlaps, [](double overlap) { return std::isnan(overlap); });
  found.auc_overlap = compared ? auc_above(overlaps, sizes, level) : kUndefined;
  found.auc_z = compared ? auc_above(z, sizes, level) : kUndefined;
  found.rank_correlation_overlap = compared ? effect_correlation(overlaps, sizes) : kUndefined;
  for (MeasuredCut& one : cuts) {
    one.above_controls = !std::isnan(level) && std::abs(*one.effect) > level;
    one.in_circuit = one.above_controls && one.beyond_chance;
  }
  return found;
}

}  // namespace

std::vector<MeasuredCut> choose_component_cuts(const Model& model, const ComponentRequest& request,
                                               const Context& context) {
  const Network network = resolve_network(model);
  const bool parallel = network.parallel;
  const auto is_final = [](const ComponentCut& cut) { return cut.target.kind == ComponentKind::kUnembedding; };
  const bool has_final = std::ranges::find(request.targets, ComponentKind::kUnembedding) != request.targets.end() ||
                         std::ranges::any_of(request.given, is_final);
  if (has_final) require_read_by_unembedding(network);
  for (const ComponentCut& cut : request.given) check_cut(cut, model.info().sizes, parallel);
  const std::vector<ComponentEdge> edges = edges_from_heads(model, request, context);
  std::map<Ends, const ComponentEdge*> by_ends;
  for (const ComponentEdge& edge : edges) by_ends[{edge.source, edge.target}] = &edge;
  require_edges(request, edges);
  std::vector<MeasuredCut> all;
  for (const ComponentKind kind : kKinds) {
    for (MeasuredCut& one : choose(kind, request, model.info().sizes, edges)) {
      const auto found = by_ends.find({one.cut.source, one.cut.target});
      if (found != by_ends.end()) {
        one.overlap = static_cast<double>(found->second->overlap);
        one.z = found->second->isotropic.z;
        one.beyond_chance = found->second->beyond_chance;
      }
      all.push_back(one);
    }
  }
  return all;
}

ComponentEffects measure_component_cuts(std::vector<MeasuredCut> cuts, const CutMeter& meter, double before,
                                        std::uint64_t seed, const Context& context, FinishedWork* finished) {
  ComponentEffects result;
  std::vector<ComponentCut> plain;
  for (const MeasuredCut& one : cuts) plain.push_back(one.cut);
  const std::vector<double> values = meter.measure_components(plain, context, finished);
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i].effect = values[i] - before;
  for (const ComponentKind kind : kKinds) {
    const auto is_of_kind = [&](const MeasuredCut& one) { return one.cut.target.kind == kind; };
    const auto first = std::ranges::find_if(cuts, is_of_kind);
    const auto last = std::find_if_not(first, cuts.end(), is_of_kind);
    if (first != last) result.agreement.push_back(compare_kind(kind, std::span(first, last), seed));
  }
  result.cuts = std::move(cuts);
  return result;
}

}  // namespace headscope
