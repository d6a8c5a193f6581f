#include "headscope/patch/patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/relate/wiring.h"

namespace headscope {
namespace {

void check_given(const PatchOptions& options, const HeadSizes& sizes) {
  if (options.screen_only && options.components.any()) {
    throw Error(ErrorKind::kInvalidArgument, "only pairs of heads are screened; MLPs and the unembedding are not");
  }
  for (const PatchEdge& edge : options.given) {
    check_edge(edge, sizes);
    if (std::ranges::find(options.roles, edge.role) == options.roles.end()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("the edge from {} to {} has role {}, which was not requested", to_string(edge.source),
                              to_string(edge.target), letter(edge.role)));
    }
  }
}

std::vector<RolePair> role_pairs(const PatchOptions& options) {
  std::vector<RolePair> pairs;
  for (const Role role : options.roles) pairs.push_back({Role::kO, role});
  return pairs;
}

// What weights and screen say about an edge.
MeasuredEdge describe(const ChosenEdge& chosen, const std::vector<Role>& roles, const HeadSizes& sizes,
                      const Wiring& wiring, std::span<const Screen> screens) {
  const PatchEdge& edge = chosen.edge;
  const auto r = static_cast<std::size_t>(std::ranges::find(roles, edge.role) - roles.begin());
  const std::size_t row = row_of(edge, sizes);
  const std::size_t column = column_of(edge, sizes);
  const Judgment& judgment = wiring.judgments[r];
  MeasuredEdge found;
  found.edge = edge;
  found.kind = chosen.kind;
  found.sample = chosen.sample;
  found.pk = static_cast<double>(wiring.affinities[r].values(row, column));
  found.z = static_cast<double>(judgment.z(row, column));
  found.beyond_chance = judgment.beyond_chance(row, column);
  found.local = static_cast<double>(screens[r].values(row, column));
  return found;
}

std::vector<MeasuredEdge> edges_to_measure(const Model& model, const PatchOptions& options,
                                           std::span<const Screen> screens, const Context& context) {
  const Wiring wiring = judge_wiring(model, role_pairs(options), options.weights, options.matched, context);
  const HeadSizes& sizes = model.info().sizes;
  const std::vector<ChosenEdge> chosen = options.given.empty() ? choose_edges(wiring, screens, sizes, options.choice)
                                                               : with_controls(options.given, sizes, options.choice);
  std::vector<MeasuredEdge> edges;
  for (const ChosenEdge& one : chosen) edges.push_back(describe(one, options.roles, sizes, wiring, screens));
  return edges;
}

// Checks all stages before the first one begins: the record is held throughout, the screens after they are computed.
void check_memory(const Model& model, const PatchInputs& inputs, const PatchOptions& options, const Context& context) {
  const HeadSizes& sizes = model.info().sizes;
  TokenCounts all;
  std::size_t longest = 0;
  for (const ModelInput& input : inputs.inputs) {
    const TokenCounts own = token_counts(model, input);
    all.source += own.source;
    all.target += own.target;
    longest = std::max(longest, own.source + own.target);
  }
  if (inputs.inputs.empty()) return;  // refused later
  const std::size_t tokens = all.source + all.target;
  const std::size_t pass = saturating_add(forward_memory(model, longest), edits_memory(model, longest));
  std::size_t held = record_memory(sizes, all, resolve_network(model).side_streams.in.size());
  std::size_t stage = pass;
  if (options.replacement == Replacement::kPair) held = saturating_multiply(held, 2);
  stage = std::max(stage, screen_memory(model, inputs.inputs, options.roles));
  if (!options.screen_only) {
    std::size_t screens = 0;
    for (const Role role : options.roles) {
      screens =
          saturating_add(screens, saturating_multiply(sizes.layers * sizes.heads, sizes.layers * sizes.heads_of(role)));
    }
    screens = saturating_multiply(screens, sizeof(float));
    if (!options.roles.empty()) {
      stage = std::max(stage, saturating_add(screens, wiring_memory(model, role_pairs(options))));
    }
    const std::size_t change = saturating_multiply(tokens, sizes.d_model * sizeof(float));
    stage = std::max(stage, saturating_add(screens, saturating_add(change, pass)));
  }
  require_memory(context, saturating_add(held, stage), fmt::format("cutting edges on {} tokens", tokens));
}

}  // namespace

PatchResult patch(const Model& model, const PatchInputs& inputs, const PatchOptions& options, const Context& context,
                  FinishedWork* finished) {
  check_given(options, model.info().sizes);
  check_memory(model, inputs, options, context);
  const RecordedPass record(model, inputs.inputs, context.with_stage("running the model"));
  Context after = context.without_memory(record.memory());
  std::optional<RecordedPass> paired;
  if (options.replacement == Replacement::kPair) {
    paired.emplace(model, inputs.paired, after.with_stage("running the paired inputs"));
    after = after.without_memory(paired->memory());
  }
  const HeadChange change(record, options.replacement, paired ? &*paired : nullptr);
  std::optional<CutMeter> meter;
  PatchResult result;
  if (!options.screen_only) {
    meter.emplace(record, change, inputs.readouts);
    for (const std::vector<Readout>& of_input : inputs.readouts) result.predictions += of_input.size();
  }
  if (!options.roles.empty()) {
    result.screens = screen(record, change, options.roles, after.with_stage("screening all pairs"), finished);
  }
  if (!meter) return result;
  for (const Screen& one : result.screens) after = after.without_memory(one.values.values().size() * sizeof(float));

  if (!options.roles.empty()) {
    result.edges = edges_to_measure(model, options, result.screens, after.with_stage("comparing heads"));
  }
  std::vector<MeasuredCut> cuts;
  if (options.components.any()) {
    cuts = choose_component_cuts(model, options.components, after.with_stage("comparing components"));
  }
  result.before = meter->before(after.with_stage("running the model again"));
  std::vector<PatchEdge> edges;
  for (const MeasuredEdge& one : result.edges) edges.push_back(one.edge);
  const std::vector<double> values = meter->measure(edges, after.with_stage("cutting edges"), finished);
  for (std::size_t i = 0; i < values.size(); ++i) result.edges[i].effect = values[i] - *result.before;
  result.agreement = compare_with_controls(result.edges, options.roles, options.choice.seed);
  result.components = measure_component_cuts(std::move(cuts), *meter, *result.before, options.components.choice.seed,
                                             after.with_stage("cutting edges to components"), finished);
  return result;
}

}  // namespace headscope
