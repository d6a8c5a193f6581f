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
    const std::size_t targets = sizes.heads_of(one.role);
    for (std::size_t i = 0; i < one.values.rows(); ++i) {
      for (std::size_t j = (i / sizes.heads + 1) * targets; j < one.values.columns(); ++j) {
        ++pairs;
        if (one.values(i, j) <= largest) continue;
        largest = one.values(i, j);
        best = fmt::format("{} {} > {}", to_string(RolePair{Role::kO, one.role}),
                           to_string(HeadId{i / sizes.heads, i % sizes.heads}),
                           to_string(target_head(one.role, j / targets, j % targets, sizes)));
      }
    }
  }
  if (best.empty()) return fmt::format("None of {} pairs of heads has a local effect.", pairs);
  return fmt::format(
      "Of {} pairs of heads, {} has the largest local effect: {:.3g} of the stream's norm. Nothing was cut.", pairs,
      best, largest);
}

// E.g. "... in OQ top (p 0.0001), OK screen (p 0.0003), not in OV top (p 0.4)."
std::string roles_sentence(const PatchOutcome& outcome) {
  std::vector<std::string> yes;
  std::vector<std::string> no;
  const auto tests = static_cast<double>(outcome.result.agreement.size());
  for (const Agreement& one : outcome.result.agreement) {
    if (std::isnan(one.p)) continue;
    (one.p * tests <= kLevel ? yes : no)
        .push_back(
            fmt::format("{} {} (p {:.2g})", to_string(RolePair{Role::kO, one.role}), to_string(one.sample), one.p));
  }
  if (yes.empty()) {
    return fmt::format("Chosen edges do not change more than random edges between the same layers: {}.",
                       fmt::join(no, ", "));
  }
  return fmt::format("Chosen edges change more than random ones between the same layers in {}{}.", fmt::join(yes, ", "),
                     no.empty() ? "" : fmt::format(", not in {}", fmt::join(no, ", ")));
}

// All controls of a role, which set its level.
std::size_t controls_of(const PatchOutcome& outcome, Role role) {
  std::size_t count = 0;
  for (const Agreement& one : outcome.result.agreement) count += one.role == role ? one.controls : 0;
  return count;
}

bool has_effect(const PatchOutcome& outcome) {
  const auto tests = static_cast<double>(outcome.result.agreement.size());
  return std::ranges::any_of(outcome.result.agreement,
                             [&](const Agreement& one) { return one.p * tests <= kLevel; });  // false for NaN
}

}  // namespace

std::vector<std::string> verdict(const PatchOutcome& outcome) {
  const PatchResult& result = outcome.result;
  if (result.edges.empty()) {
    return result.before ? std::vector<std::string>{"No edge was cut: the model has no pair of heads to cut."}
                         : std::vector<std::string>{screen_sentence(outcome)};
  }
  std::size_t chosen = 0;
  std::size_t above = 0;
  std::size_t controls = 0;
  double by_chance = 0;
  for (const Agreement& one : result.agreement) {
    chosen += one.chosen;
    above += one.above;
    controls += one.controls;
    by_chance += static_cast<double>(one.chosen) / static_cast<double>(controls_of(outcome, one.role) + 1);
  }
  const MeasuredEdge* best = strongest(outcome);
  if (controls == 0) {
    return {
        fmt::format("{} edges were cut; the strongest is {}. Without random edges as controls nothing can be said "
                    "about chance.",
                    chosen, effect_text(*best, outcome))};
  }
  const std::size_t circuit = circuit_of(result.edges).size();
  std::vector<std::string> sentences;
  if (!has_effect(outcome)) {
    sentences.push_back(
        fmt::format("No effect beyond that of random edges: {} of {} chosen edges are above the level "
                    "of their controls, about {:.1f} would be by chance.",
                    above, chosen, by_chance));
  } else {
    sentences.push_back(fmt::format(
        "{} of {} chosen edges change the output more than 99 % of random edges between the same layers (about {:.1f} "
        "would by chance); the strongest is {}.",
        above, chosen, by_chance, effect_text(*best, outcome)));
  }
  sentences.push_back(roles_sentence(outcome));
  sentences.push_back(
      fmt::format("The circuit, edges above that level whose weights are beyond chance, has {} edge{}{}.", circuit,
                  circuit == 1 ? "" : "s", circuit > 0 && !has_effect(outcome) ? ", no more than chance gives" : ""));
  return sentences;
}

}  // namespace headscope
