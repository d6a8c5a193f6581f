#include "cli/demo_story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/capture/inputs.h"
#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"

namespace headscope::cli {
namespace {

double number(JsonValue value) {
  const auto found = value.as_number();
  if (!found) throw Error(ErrorKind::kFormat, "a number is missing in the summary of a run");
  return *found;
}

std::string text(JsonValue value) {
  const auto found = value.as_string();
  if (!found) throw Error(ErrorKind::kFormat, "a name is missing in the summary of a run");
  return std::string(*found);
}

}  // namespace

std::vector<InductionEdge> induction_edges(const RelateResult& related, const DetectResult& detected,
                                           double threshold) {
  const auto score = [&](HeadId id, Detector detector) {
    const auto found = std::ranges::find(detected.heads, id, &HeadScores::head);
    return found == detected.heads.end() ? 0 : found->scores[static_cast<std::size_t>(detector)].value_or(0);
  };
  std::vector<InductionEdge> all;
  for (const Edge& edge : related.edges) {
    if (edge.pair.source != Role::kO || edge.pair.target != Role::kK) continue;
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

std::string told_pruning(JsonValue summary) {
  const JsonValue random = summary.find("random");
  std::optional<JsonValue> best;
  std::vector<std::string> measured;
  for (const JsonValue one : summary.find("rankings").items()) {
    const std::string criterion = text(one.find("criterion"));
    if (criterion == "alone" || criterion == "greedy")
      measured.push_back(fmt::format("{} {:.2f}", criterion, number(one.find("damage"))));
    if (!one.find("structural").as_bool().value_or(false)) continue;
    if (!best || number(one.find("damage")) < number(best->find("damage"))) best = one;
  }
  if (!best) throw Error(ErrorKind::kFormat, "no structural criterion in the summary of a run");
  const double orders = number(random.find("orders"));
  const double beaten = number(best->find("better_than_random_orders"));
  return fmt::format(
      "{:.0f} of {:.0f} heads removed by {}: {:.2f} nats a word. The same number removed at random, {:.0f} times: "
      "{:.2f} "
      "to {:.2f}. {}\nHeads chosen by measuring the damage itself: {}.\n",
      number(summary.find("removed")), number(summary.find("heads")), text(best->find("criterion")),
      number(best->find("damage")), orders, number(random.find("least")), number(random.find("most")),
      beaten == orders ? "Structure beats chance." : fmt::format("Better than {:.0f} of {:.0f}.", beaten, orders),
      fmt::join(measured, ", "));
}

std::string told_comparison(JsonValue names) {
  std::vector<std::string> runs;
  for (const JsonValue run : names.find("runs").items()) runs.push_back(text(run.find("name")));
  std::string told;
  for (const JsonValue pair : names.find("pairs").items()) {
    const auto a = static_cast<std::size_t>(number(pair.find("a")));
    const auto b = static_cast<std::size_t>(number(pair.find("b")));
    if (a >= runs.size() || b >= runs.size()) throw Error(ErrorKind::kFormat, "a pair of runs that are not there");
    told += fmt::format("{} and {}: {}; distance {:.2f}.\n", runs[a], runs[b], text(pair.find("verdict")),
                        number(pair.find("distance")));
  }
  return told;
}

}  // namespace headscope::cli
