#include "app/demo_story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/capture/inputs.h"
#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"

namespace headscope::app {

std::vector<InductionEdge> induction_edges(const RelateResult& related, const DetectResult& detected,
                                           double threshold) {
  const auto score = [&](HeadId id, Detector detector) {
    const auto found = std::ranges::find(detected.heads, id, &HeadScores::head);
    return found == detected.heads.end() ? 0 : found->scores[static_cast<std::size_t>(detector)].value_or(0);
  };
  std::vector<InductionEdge> all;
  for (const Edge& edge : related.edges) {
    if (edge.pair.source != Role::kO || edge.pair.target != Role::kK || !edge.beyond_chance) continue;
    const InductionEdge one{edge, score(edge.source, Detector::kPrevious), score(edge.target, Detector::kInduction)};
    if (one.previous >= threshold && one.induction >= threshold) all.push_back(one);
  }
  return all;
}

Loss loss_without(const Model& model, HeadId head, std::span<const std::string> texts) {
  InputReader reader(model);
  std::vector<ModelInput> inputs;
  for (const std::string& text : texts) inputs.push_back(reader.text(text).input);
  const HeadId heads[] = {head};
  const EffectMeter meter(model, inputs);
  const Effect effect = meter.measure(zero_ablation(model, heads));
  if (!effect.before.loss || !effect.after.loss) {
    throw Error(ErrorKind::kUnsupported, "a model without a next token has no loss");
  }
  return {to_string(head), *effect.before.loss, *effect.after.loss};
}

std::string comparison_text(const CompareOutcome& outcome) {
  std::string text;
  for (std::size_t a = 0; a < outcome.sources.size(); ++a) {
    for (std::size_t b = a + 1; b < outcome.sources.size(); ++b) {
      text += fmt::format("{} and {}: {}; distance {:.2f}.\n", outcome.sources[a].run.name, outcome.sources[b].run.name,
                          pair_verdict(outcome.comparison, a, b), outcome.comparison.distances(a, b));
    }
  }
  return text;
}

}  // namespace headscope::app
