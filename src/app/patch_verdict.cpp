#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "headscope/app/patch.h"
#include "headscope/patch/circuit_export.h"
#include "headscope/relate/role_pair.h"

namespace headscope {
namespace {

constexpr double kLevel = 0.05;

std::string unit(const PatchOutcome& outcome) {
  return outcome.metric == PatchMetric::kLoss ? "nats of loss" : "of the logit difference";
}

std::string effect_text(const MeasuredEdge& edge, const PatchOutcome& outcome) {
  return fmt::format("{} {} > {} ({:+.3g} {})", to_string(RolePair{Role::kO, edge.edge.role}),
                     to_string(edge.edge.source), to_string(edge.edge.target), edge.effect.value_or(0), unit(outcome));
}

const MeasuredEdge* strongest(const PatchOutcome& outcome) {
  const MeasuredEdge* found = nullptr;
  for (const MeasuredEdge& edge : outcome.result.edges) {
    if (edge.kind == EdgeKind::kControl || !edge.effect) continue;
    if (found == nullptr || std::abs(*edge.effect) > std::abs(*found->effect)) found = &edge;
  }
  return found;
}

std::string screen_sentence(const PatchOutcome& outcome) {
  const HeadSizes& sizes = outcome.model.sizes;
  std::string best;
  float largest = 0;
  std::size_t pairs = 0;
  for (const Screen& one : outcome.result.screens) {
    for (std::size_t i = 0; i < one.values.rows(); ++i) {
      for (std::size_t j = 0; j < one.values.columns(); ++j) {
        const std::optional<PatchEdge> edge = edge_at(one.role, i, j, sizes);
        if (!edge) continue;
        ++pairs;
        if (one.values(i, j) <= largest) continue;
        largest = one.values(i, j);
        best = fmt::format("{} {} > {}", to_string(RolePair{Role::kO, one.role}), to_string(edge->source),
                           to_string(edge->target));
      }
    }
  }
  if (best.empty()) return fmt::format("None of {} pairs of heads has a local effect.", pairs);
  return fmt::format(
      "Of {} pairs of heads, {} has the largest local effect: {:.3g} of the stream's norm. Nothing was cut.", pairs,
      best, largest);
}

// All controls of a role, which set its level.
std::size_t controls_of(const PatchOutcome& outcome, Role role) {
  std::size_t count = 0;
  for (const Agreement& one : outcome.result.agreement) count += one.role == role ? one.controls : 0;
  return count;
}

// By which p is corrected.
double test_count(const PatchOutcome& outcome) {
  return static_cast<double>(outcome.result.agreement.size() + outcome.result.components.agreement.size());
}

// What the edges of one kind show, all roles together.
struct KindVerdict {
  EdgeKind kind;
  std::size_t chosen = 0;
  std::size_t above = 0;
  double by_chance = 0;
  bool could_tell = false;  // whether enough edges were cut for any conclusion
  bool has_effect = false;
};

KindVerdict judge(const PatchOutcome& outcome, EdgeKind kind) {
  KindVerdict found{.kind = kind};
  const double tests = test_count(outcome);
  for (const Agreement& one : outcome.result.agreement) {
    if (one.sample != kind) continue;
    found.chosen += one.chosen;
    found.above += one.above;
    found.by_chance += static_cast<double>(one.chosen) / static_cast<double>(controls_of(outcome, one.role) + 1);
    found.could_tell = found.could_tell || one.least_p * tests <= kLevel;
    found.has_effect = found.has_effect || one.p * tests <= kLevel;  // false for NaN
  }
  return found;
}

std::string_view chosen_by(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kTop:
      return "edges chosen by weights";
    case EdgeKind::kScreen:
      return "edges chosen by the screen";
    case EdgeKind::kGiven:
    case EdgeKind::kControl:
      break;
  }
  return "given edges";
}

std::string kind_sentence(const KindVerdict& one) {
  const std::string counts = fmt::format(
      "{} of {} {} change the output more than 99 % of random edges between the same "
      "layers (about {:.1f} would by chance)",
      one.above, one.chosen, chosen_by(one.kind), one.by_chance);
  if (one.has_effect) return counts + ".";
  if (!one.could_tell) return fmt::format("Too few {} were cut to tell: {}.", chosen_by(one.kind), counts);
  return fmt::format("No effect of {} beyond that of random edges: {}.", chosen_by(one.kind), counts);
}

// E.g. "p per pair and sample: OQ top 0.0001, OK screen 0.0003; corrected for their number, those up to 0.008 count."
std::string p_sentence(const PatchOutcome& outcome) {
  std::vector<std::string> all;
  for (const Agreement& one : outcome.result.agreement) {
    if (std::isnan(one.p)) continue;
    all.push_back(fmt::format("{} {} {:.2g}", to_string(RolePair{Role::kO, one.role}), to_string(one.sample), one.p));
  }
  return fmt::format("p per pair and sample: {}; corrected for their number, those up to {:.2g} count.",
                     fmt::join(all, ", "), kLevel / test_count(outcome));
}

std::vector<std::string> heads_verdict(const PatchOutcome& outcome) {
  const PatchResult& result = outcome.result;
  if (result.edges.empty()) {
    if (!result.before) return {screen_sentence(outcome)};
    return {outcome.top == 0 ? "No edge was cut: --top is 0."
                             : "No edge was cut: the model has no pair of heads to cut."};
  }
  const MeasuredEdge* best = strongest(outcome);
  const bool has_controls =
      std::ranges::any_of(result.agreement, [](const Agreement& one) { return one.controls > 0; });
  if (!has_controls) {
    return {
        fmt::format("{} cut; the strongest is {}. Without random edges as controls nothing can be said about chance.",
                    result.edges.size() == 1 ? "1 edge was" : fmt::format("{} edges were", result.edges.size()),
                    effect_text(*best, outcome))};
  }
  std::vector<std::string> sentences;
  bool any = false;
  bool could_tell = false;
  for (const EdgeKind kind : {EdgeKind::kTop, EdgeKind::kScreen, EdgeKind::kGiven}) {
    const KindVerdict one = judge(outcome, kind);
    if (one.chosen == 0) continue;
    sentences.push_back(kind_sentence(one));
    any = any || one.has_effect;
    could_tell = could_tell || one.could_tell;
  }
  if (any) sentences.push_back(fmt::format("The strongest is {}.", effect_text(*best, outcome)));
  const std::size_t circuit = circuit_of(result.edges, {}).size();
  sentences.push_back(
      fmt::format("The circuit, edges above that level whose weights are beyond chance, has {} edge{}{}.", circuit,
                  circuit == 1 ? "" : "s", circuit > 0 && !any && could_tell ? ", no more than chance gives" : ""));
  sentences.push_back(p_sentence(outcome));
  return sentences;
}

// What cuts into one kind of target show.
std::string component_sentence(const ComponentAgreement& one, double tests) {
  const std::string_view target = one.target == ComponentKind::kMlp ? "MLPs" : "the unembedding";
  if (one.controls == 0) {
    return fmt::format("{} edge{} to {} cut. Without random edges as controls nothing can be said about chance.",
                       one.chosen, one.chosen == 1 ? "" : "s", target);
  }
  const std::string counts = fmt::format(
      "{} of {} edges to {} change the output more than 99 % of random edges from the same layers (about {:.1f} would "
      "by chance); p {:.2g}",
      one.above, one.chosen, target, static_cast<double>(one.chosen) / static_cast<double>(one.controls + 1), one.p);
  if (one.p * tests <= kLevel) return counts + ".";
  if (one.least_p * tests > kLevel) return fmt::format("Too few edges to {} were cut to tell: {}.", target, counts);
  return fmt::format("No effect of edges to {} beyond that of random edges: {}.", target, counts);
}

}  // namespace

std::vector<std::string> verdict(const PatchOutcome& outcome) {
  const ComponentEffects& components = outcome.result.components;
  std::vector<std::string> sentences;
  if (!outcome.result.edges.empty() || components.cuts.empty()) sentences = heads_verdict(outcome);
  for (const ComponentAgreement& one : components.agreement) {
    sentences.push_back(component_sentence(one, test_count(outcome)));
  }
  return sentences;
}

}  // namespace headscope
