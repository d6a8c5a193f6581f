#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/prune.h"
#include "headscope/base/error.h"
#include "headscope/base/median.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/prune.h"

namespace headscope {
namespace {

using app::Json;
using app::number;

std::optional<std::uint64_t> seed_of(const HeadRanking& ranking) {
  return ranking.criterion == PruneCriterion::kRandom ? std::optional(ranking.seed) : std::nullopt;
}

bool contains(const std::vector<HeadId>& heads, HeadId id) {
  return std::ranges::find(heads, id) != heads.end();
}

Json names(const std::vector<HeadId>& heads) {
  Json list = Json::array();
  for (const HeadId& id : heads) list.push_back(to_string(id));
  return list;
}

Json effect_json(const Effect& effect) {
  return {{"loss", number(effect.after.loss)},
          {"accuracy", number(effect.after.accuracy)},
          {"kl", number(effect.kl)},
          {"agreement", number(effect.agreement)},
          {"change", effect.change}};
}

const Effect& effect_at_budget(const PruneResult& result, std::size_t ranking) {
  const auto found = std::ranges::find_if(result.curve, [&](const CurvePoint& point) {
    return point.ranking == ranking && point.removed == result.removed;
  });
  return found->effect;
}

std::string_view measure_name(const PruneResult& result) {
  const Effect& effect = result.curve.front().effect;
  if (result.measure == DamageMeasure::kLoss && effect.before.loss) return "loss";
  return effect.kl ? "kl" : "change";
}

std::string_view replacement_name(const PruneResult& result) {
  return result.replacement == Ablation::kMean ? "mean" : "zero";
}

// What removed heads write, and why not their mean.
std::string replacement_sentence(const PruneResult& result) {
  if (result.replacement == Ablation::kMean) return "A removed head writes its mean over the inputs used to choose.";
  if (result.not_mean.empty()) return "A removed head writes zeros.";
  return fmt::format("A removed head writes zeros, not its mean: {}.", result.not_mean);
}

Json control_json(const std::optional<ControlTest>& test) {
  if (!test) return {};
  return {{"orders", test->orders},
          {"better_than", test->better_than},
          {"least", test->least},
          {"median", test->median},
          {"most", test->most},
          {"p", test->p},
          {"p_corrected", test->p_corrected}};
}

// Damages of all plain random orders at the budget; `orders` is 0 if there are none.
ControlTest plain_orders(const PruneResult& result) {
  for (const PruneVerdict& verdict : result.verdicts) {
    if (verdict.plain) return *verdict.plain;
  }
  ControlTest found;
  std::vector<double> damages;
  for (const ControlOrder& order : result.controls) damages.push_back(order.damage);
  if (damages.empty()) return found;
  found.orders = damages.size();
  found.least = std::ranges::min(damages);
  found.median = median(damages);
  found.most = std::ranges::max(damages);
  return found;
}

Json summary_json(const PruneResult& result) {
  Json rankings = Json::array();
  for (const PruneVerdict& verdict : result.verdicts) {
    const HeadRanking& one = result.rankings[verdict.ranking];
    Json entry = {{"criterion", to_string(one.criterion)}, {"structural", is_structural(one.criterion)}};
    if (one.criterion == PruneCriterion::kRandom) entry["seed"] = one.seed;
    entry["damage"] = verdict.damage;
    if (one.criterion != PruneCriterion::kRandom) {
      entry["better_than_random_orders"] = verdict.plain ? Json(verdict.plain->better_than) : Json();
      entry["random_p"] = verdict.plain ? Json(verdict.plain->p) : Json();
      entry["random"] = control_json(verdict.plain);
      entry["random_by_layer"] = control_json(verdict.by_layer);
      entry["beats_random"] = verdict.beats_random;
    }
    entry["effect"] = effect_json(effect_at_budget(result, verdict.ranking));
    entry["removed"] = names(result.removed_heads(verdict.ranking));
    rankings.push_back(std::move(entry));
  }
  const ControlTest random = plain_orders(result);
  return {{"heads", result.heads},
          {"removed", result.removed},
          {"zero_already", names(result.zero)},
          {"chosen_on", result.chosen_on},
          {"measured_on", result.measured_on},
          {"held_out", result.held_out},
          {"replacement", replacement_name(result)},
          {"replacement_note", replacement_sentence(result)},
          {"damage_measure", measure_name(result)},
          {"before", effect_json(result.curve.front().effect)},
          {"best", result.best ? Json(to_string(result.rankings[*result.best].criterion)) : Json()},
          {"criteria_tried", result.tried},
          {"random",
           {{"orders", random.orders}, {"least", random.least}, {"median", random.median}, {"most", random.most}}},
          {"rankings", rankings},
          {"verdict", verdict(result)}};
}

std::string effect_line(const std::string& name, const Effect& effect, double damage, const std::string& note) {
  const auto text = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  return fmt::format("  {:<14} {:>9.4f} {:>9} {:>9} {:>9} {:>9}  {}\n", name, damage, text(effect.after.loss),
                     text(effect.after.accuracy), text(effect.kl), text(effect.agreement), note);
}

// "better than 120 of 120 random orders, 85 of 100 by layer"
std::string control_note(const PruneVerdict& verdict) {
  if (!verdict.plain) return {};
  std::string note =
      fmt::format("better than {} of {} random orders", verdict.plain->better_than, verdict.plain->orders);
  if (verdict.by_layer)
    note += fmt::format(", {} of {} by layer", verdict.by_layer->better_than, verdict.by_layer->orders);
  return note;
}

// ranking.csv, curve.csv and orders.csv.
void add_tables(RunFolder& folder, const PruneOutcome& outcome) {
  const PruneResult& result = outcome.result;
  Table ranking = make_table(run_files::kRanking);
  for (const HeadRanking& one : result.rankings) {
    for (std::size_t i = 0; i < one.order.size(); ++i) {
      const HeadId id = one.order[i];
      ranking.add_row({to_string(one.criterion), seed_of(one), i + 1, to_string(id), id.layer, id.head, one.scores[i],
                       i < result.removed, contains(result.zero, id)});
    }
  }
  RunFile about = describe(run_files::kRanking);
  if (!outcome.protected_heads.empty()) {
    about.about += fmt::format(" {} protected heads are left out.", outcome.protected_heads.size());
  }
  folder.add_table(about, std::move(ranking));

  Table curve = make_table(run_files::kCurve);
  for (const CurvePoint& point : result.curve) {
    const HeadRanking& one = result.rankings[point.ranking];
    curve.add_row({to_string(one.criterion), seed_of(one), point.removed, point.effect.after.loss,
                   point.effect.after.accuracy, point.effect.kl, point.effect.agreement, point.effect.change});
  }
  folder.add_table(run_files::kCurve, std::move(curve));

  Table orders = make_table(run_files::kOrders);
  for (const ControlOrder& order : result.controls) {
    const bool by_layer = order.control == PruneControl::kByLayer;
    orders.add_row({to_string(order.control),
                    by_layer ? std::string(to_string(result.rankings[order.ranking].criterion)) : std::string(),
                    order.seed, order.damage, order.effect.after.loss, order.effect.after.accuracy, order.effect.kl,
                    order.effect.agreement, order.effect.change});
  }
  folder.add_table(run_files::kOrders, std::move(orders));
}

// pruned.json: which heads were removed, by which criterion, and the effect. `ranking` is the one that was written, or
// the best one.
std::string pruned_json(const PruneOutcome& outcome, std::size_t ranking) {
  const PruneResult& result = outcome.result;
  const HeadRanking& chosen = result.rankings[ranking];
  Json root = {{"model", outcome.model},
               {"checkpoint", outcome.written ? Json("pruned") : Json()},
               {"criterion", to_string(chosen.criterion)}};
  if (chosen.criterion == PruneCriterion::kRandom) root["seed"] = chosen.seed;
  root["heads"] = result.heads;
  root["removed"] = names(result.removed_heads(ranking));
  root["replacement"] = replacement_name(result);
  root["zero_already"] = names(result.zero);
  root["damage_measure"] = measure_name(result);
  root["damage"] = result.verdicts[ranking].damage;
  root["before"] = effect_json(result.curve.front().effect);
  root["after"] = effect_json(effect_at_budget(result, ranking));
  return app::json_text(root);
}

}  // namespace

void write(const PruneOutcome& outcome, RunFolder& folder) {
  add_tables(folder, outcome);
  folder.verdict() = verdict(outcome.result);
  Json root = summary_json(outcome.result);
  root["said"] = verdict(outcome.result).front();
  folder.add_text(describe(run_files::kPruning), app::json_text(root));
  if (const auto told = outcome.written ? outcome.written : outcome.result.best) {
    folder.add_text(describe(run_files::kPruned), pruned_json(outcome, *told));
  }
}

std::string summary(const PruneOutcome& outcome) {
  const PruneResult& result = outcome.result;
  const Effect& before = result.curve.front().effect;
  const std::vector<std::string> sentences = verdict(result);
  std::string out = fmt::format("{}\n{} of {} heads removed", sentences.front(), result.removed, result.heads);
  if (!result.zero.empty()) {
    std::vector<std::string> some;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, result.zero.size()); ++i)
      some.push_back(to_string(result.zero[i]));
    out += fmt::format("; {} were zero already: {}{}", result.zero.size(), fmt::join(some, " "),
                       result.zero.size() > some.size() ? " ..." : "");
  }
  const auto inputs = [](std::size_t count) { return fmt::format("{} input{}", count, count == 1 ? "" : "s"); };
  out += (result.held_out
              ? fmt::format("\nchosen on {}, measured on {} others\n", inputs(result.chosen_on), result.measured_on)
              : fmt::format("\nchosen and measured on the same {}\n", inputs(result.measured_on)));
  out += replacement_sentence(result) + "\n";
  const std::string header = fmt::format("damage ({})", measure_name(result));
  out += fmt::format("  {:<9} {:>14} {:>9} {:>9} {:>9} {:>9}\n", "", header, "loss", "accuracy", "KL", "agreement");
  out += effect_line("nothing", before, 0, "");
  for (const PruneVerdict& verdict : result.verdicts) {
    const HeadRanking& one = result.rankings[verdict.ranking];
    if (one.criterion == PruneCriterion::kRandom) continue;
    out += effect_line(std::string(to_string(one.criterion)), effect_at_budget(result, verdict.ranking), verdict.damage,
                       control_note(verdict));
  }
  if (const ControlTest random = plain_orders(result); random.orders > 0) {
    out += fmt::format("  {:<14} {:>9.4f} median of {} orders; {:.4f} to {:.4f}\n", "random", random.median,
                       random.orders, random.least, random.most);
  }
  for (std::size_t i = 1; i < sentences.size(); ++i) out += sentences[i] + "\n";
  if (outcome.written && !outcome.files.folder.empty()) {
    constexpr std::size_t kMaxLength = 4096;
    out += fmt::format("\n{}/pruned is the model without the heads chosen by {}; it loads wherever the original does\n",
                       printable(outcome.files.folder.string(), kMaxLength),
                       to_string(result.rankings[*outcome.written].criterion));
    if (outcome.bias_argument) {
      out += "transformers reads its biases only with from_pretrained(..., attention_bias=True)\n";
    }
  } else {
    out += "\n";
  }
  return out + app::files_line(outcome.files);
}

std::string to_json(const PruneOutcome& outcome) {
  Json root = summary_json(outcome.result);
  root["said"] = verdict(outcome.result).front();
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
