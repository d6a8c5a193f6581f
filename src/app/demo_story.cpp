#include "app/demo_story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/base/random.h"
#include "headscope/capture/inputs.h"
#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"

namespace headscope::app {

std::vector<InductionEdge> induction_edges(const RelateResult& related, const DetectResult& detected,
                                           const HeadSizes& sizes, double threshold) {
  const auto score = [&](HeadId id, Detector detector) {
    const std::size_t group = sizes.heads / sizes.kv_heads;
    double best = 0;
    for (const HeadScores& one : detected.heads) {
      const bool same = id.key_value ? one.head.head / group == id.head : one.head.head == id.head;
      if (!same || one.head.layer != id.layer) continue;
      best = std::max(best, one.scores[static_cast<std::size_t>(detector)].value_or(0));
    }
    return best;
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

std::vector<std::int64_t> repeated_tokens(std::size_t vocabulary, std::optional<std::uint32_t> bos,
                                          std::size_t sequences, std::size_t half) {
  std::vector<std::int64_t> ids;
  for (std::size_t s = 0; s < sequences; ++s) {
    if (bos) ids.push_back(*bos);
    Random random(0, {s});
    for (std::size_t i = 0; i < half; ++i) ids.push_back(static_cast<std::int64_t>(random.index(vocabulary)));
    for (std::size_t i = 0; i < half; ++i) ids.push_back(ids[ids.size() - half]);
  }
  return ids;
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
