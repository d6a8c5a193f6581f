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

std::string_view unit(const PruneResult& result) {
  const std::string_view measure = measure_name(result);
  return measure == "loss" ? "nats" : measure == "kl" ? "nats of KL" : "of relative change";
}

// "pk (0.23 nats)", "pk (0.23 nats) and redundancy (0.91)"
std::string named_damages(const PruneResult& result, const std::vector<PruneVerdict>& verdicts) {
  std::string text;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (i > 0) text += i + 1 == verdicts.size() ? " and " : ", ";
    text += fmt::format("{} ({:.2f}{})", to_string(result.rankings[verdicts[i].ranking].criterion), verdicts[i].damage,
                        i == 0 ? fmt::format(" {}", unit(result)) : "");
  }
  return text;
}

Json summary_json(const PruneResult& result) {
  Json rankings = Json::array();
  for (const PruneVerdict& verdict : result.verdicts) {
    const HeadRanking& one = result.rankings[verdict.ranking];
    Json entry = {{"criterion", to_string(one.criterion)}, {"structural", is_structural(one.criterion)}};
    if (one.criterion == PruneCriterion::kRandom) entry["seed"] = one.seed;
    entry["damage"] = verdict.damage;
    entry["better_than_random_orders"] = verdict.random_p ? Json(verdict.better_than) : Json();
    entry["random_p"] = number(verdict.random_p);
    entry["effect"] = effect_json(effect_at_budget(result, verdict.ranking));
    entry["removed"] = names(result.removed_heads(verdict.ranking));
    rankings.push_back(std::move(entry));
  }
  const RandomDamage random = random_damage(result);
  return {
      {"heads", result.heads},
      {"removed", result.removed},
      {"zero_already", names(result.zero)},
      {"chosen_on", result.chosen_on},
      {"measured_on", result.measured_on},
      {"held_out", result.held_out},
      {"damage_measure", measure_name(result)},
      {"before", effect_json(result.curve.front().effect)},
      {"best", result.best ? Json(to_string(result.rankings[*result.best].criterion)) : Json()},
      {"random", {{"orders", random.orders}, {"least", random.min}, {"median", random.median}, {"most", random.max}}},
      {"rankings", rankings}};
}

std::string effect_line(const std::string& name, const Effect& effect, double damage, const std::string& note) {
  const auto text = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  return fmt::format("  {:<14} {:>9.4f} {:>9} {:>9} {:>9} {:>9}  {}\n", name, damage, text(effect.after.loss),
                     text(effect.after.accuracy), text(effect.kl), text(effect.agreement), note);
}

// ranking.csv and curve.csv.
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
  root["zero_already"] = names(result.zero);
  root["damage_measure"] = measure_name(result);
  root["damage"] = result.verdicts[ranking].damage;
  root["before"] = effect_json(result.curve.front().effect);
  root["after"] = effect_json(effect_at_budget(result, ranking));
  return app::json_text(root);
}

}  // namespace

RandomDamage random_damage(const PruneResult& result) {
  std::vector<double> damages;
  for (const PruneVerdict& verdict : result.verdicts) {
    if (result.rankings[verdict.ranking].criterion == PruneCriterion::kRandom) damages.push_back(verdict.damage);
  }
  RandomDamage found;
  if (damages.empty()) return found;
  std::ranges::sort(damages);
  found.orders = damages.size();
  for (const double damage : damages) found.mean += damage / static_cast<double>(damages.size());
  found.min = damages.front();
  found.median = median(damages);
  found.max = damages.back();
  return found;
}

void write(const PruneOutcome& outcome, RunFolder& folder) {
  add_tables(folder, outcome);
  Json root = summary_json(outcome.result);
  root["said"] = chance_sentence(outcome.result);
  folder.add_text(describe(run_files::kPruning), app::json_text(root));
  if (const auto told = outcome.written ? outcome.written : outcome.result.best) {
    folder.add_text(describe(run_files::kPruned), pruned_json(outcome, *told));
  }
}

std::string chance_sentence(const PruneResult& result) {
  const RandomDamage random = random_damage(result);
  std::vector<PruneVerdict> structural;
  for (const PruneVerdict& verdict : result.verdicts) {
    if (is_structural(result.rankings[verdict.ranking].criterion)) structural.push_back(verdict);
  }
  if (structural.empty()) return "No structural criterion was requested (information, redundancy, pk).";
  if (random.orders == 0) return "Without random orders nothing says whether structure beats chance.";
  std::ranges::stable_sort(structural, {}, &PruneVerdict::damage);
  std::vector<PruneVerdict> winners;
  for (const PruneVerdict& verdict : structural) {
    if (verdict.better_than == random.orders) winners.push_back(verdict);
  }
  const std::string orders =
      fmt::format("every one of {} random orders ({:.2f} to {:.2f})", random.orders, random.min, random.max);
  if (winners.empty()) {
    return fmt::format("No structural criterion does less damage than {}; the best, {}, beats {} of them.", orders,
                       named_damages(result, {structural.front()}), structural.front().better_than);
  }
  constexpr double kLevel = 0.05;
  const double p = winners.front().random_p.value_or(1);
  return fmt::format("{} {} less damage than {}: {} (p = {:.2g}{}).", named_damages(result, winners),
                     winners.size() == 1 ? "does" : "do", orders,
                     p < kLevel ? "structure beats chance" : "too few orders to tell from chance", p,
                     winners.size() == 1 ? "" : " each");
}

std::string summary(const PruneOutcome& outcome) {
  const PruneResult& result = outcome.result;
  const Effect& before = result.curve.front().effect;
  std::string out = fmt::format("{} of {} heads removed", result.removed, result.heads);
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
  const std::string header = fmt::format("damage ({})", measure_name(result));
  out += fmt::format("  {:<9} {:>14} {:>9} {:>9} {:>9} {:>9}\n", "", header, "loss", "accuracy", "KL", "agreement");
  out += effect_line("nothing", before, 0, "");
  const RandomDamage random = random_damage(result);
  for (const PruneVerdict& verdict : result.verdicts) {
    const HeadRanking& one = result.rankings[verdict.ranking];
    if (one.criterion == PruneCriterion::kRandom) continue;
    const std::string name(to_string(one.criterion));
    const std::string note =
        verdict.random_p ? fmt::format("better than {} of {} random orders", verdict.better_than, random.orders) : "";
    out += effect_line(name, effect_at_budget(result, verdict.ranking), verdict.damage, note);
  }
  if (random.orders > 0) {
    out += fmt::format("  {:<14} {:>9.4f} on average over {} orders; {:.4f} to {:.4f}\n", "random", random.mean,
                       random.orders, random.min, random.max);
  }
  out += chance_sentence(result) + "\n";
  if (outcome.written && !outcome.files.folder.empty()) {
    constexpr std::size_t kMaxLength = 4096;
    out += fmt::format("\n{}/pruned is the model without the heads chosen by {}; it loads wherever the original does\n",
                       printable(outcome.files.folder.string(), kMaxLength),
                       to_string(result.rankings[*outcome.written].criterion));
  } else {
    out += "\n";
  }
  return out + app::files_line(outcome.files);
}

std::string to_json(const PruneOutcome& outcome) {
  Json root = summary_json(outcome.result);
  root["said"] = chance_sentence(outcome.result);
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
