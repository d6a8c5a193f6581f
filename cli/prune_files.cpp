#include "cli/prune_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "headscope/io/csv.h"

namespace headscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

std::string cell(const std::optional<double>& value) {
  return value ? csv_number(*value) : std::string();
}

std::string seed_of(const HeadRanking& ranking) {
  return ranking.criterion == PruneCriterion::kRandom ? std::to_string(ranking.seed) : std::string();
}

bool contains(const std::vector<HeadId>& heads, HeadId id) {
  return std::ranges::find(heads, id) != heads.end();
}

Json names(const std::vector<HeadId>& heads) {
  Json list = Json::array();
  for (const HeadId& id : heads) list.push_back(to_string(id));
  return list;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
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

// Damages of the random orders.
struct RandomDamage {
  std::size_t seeds = 0;
  double mean = 0;
  double least = 0;
  double median = 0;
  double most = 0;
};

RandomDamage random_damage(const PruneResult& result) {
  std::vector<double> damages;
  for (const PruneVerdict& verdict : result.verdicts) {
    if (result.rankings[verdict.ranking].criterion == PruneCriterion::kRandom) damages.push_back(verdict.damage);
  }
  RandomDamage found;
  if (damages.empty()) return found;
  std::ranges::sort(damages);
  found.seeds = damages.size();
  for (const double damage : damages) found.mean += damage / static_cast<double>(damages.size());
  found.least = damages.front();
  found.median = (damages[(damages.size() - 1) / 2] + damages[damages.size() / 2]) / 2;
  found.most = damages.back();
  return found;
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
      {"random", {{"orders", random.seeds}, {"least", random.least}, {"median", random.median}, {"most", random.most}}},
      {"rankings", rankings}};
}

void print_row(std::ostream& out, const std::string& name, const Effect& effect, double damage,
               const std::string& note) {
  const auto text = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  out << fmt::format("  {:<14} {:>9.4f} {:>9} {:>9} {:>9} {:>9}  {}\n", name, damage, text(effect.after.loss),
                     text(effect.after.accuracy), text(effect.kl), text(effect.agreement), note);
}

}  // namespace

void add_prune_tables(RunFolder& run, const PruneResult& result, const std::vector<HeadId>& kept) {
  CsvTable ranking({"criterion", "seed", "rank", "head", "layer", "index", "score", "removed", "zero_already"});
  for (const HeadRanking& one : result.rankings) {
    const std::string name(to_string(one.criterion));
    for (std::size_t i = 0; i < one.order.size(); ++i) {
      const HeadId id = one.order[i];
      ranking.add_row(Cells{name, seed_of(one), std::to_string(i + 1), to_string(id), std::to_string(id.layer),
                            std::to_string(id.head), csv_number(one.scores[i]), i < result.removed ? "yes" : "no",
                            contains(result.zero, id) ? "yes" : "no"});
    }
  }
  std::string about = "The heads in the order each criterion removes them, and which of them the budget takes.";
  if (!kept.empty()) about += fmt::format(" {} protected heads are left out.", kept.size());
  run.add_text({.name = "ranking.csv", .kind = "table", .about = about, .shape = {ranking.rows(), ranking.columns()}},
               ranking.text());

  CsvTable curve({"criterion", "seed", "removed", "loss", "accuracy", "kl", "agreement", "change"});
  for (const CurvePoint& point : result.curve) {
    const HeadRanking& one = result.rankings[point.ranking];
    curve.add_row(Cells{std::string(to_string(one.criterion)), seed_of(one), std::to_string(point.removed),
                        cell(point.effect.after.loss), cell(point.effect.after.accuracy), cell(point.effect.kl),
                        cell(point.effect.agreement), csv_number(point.effect.change)});
  }
  run.add_text({.name = "curve.csv",
                .kind = "table",
                .about = "What the model does with the first so many heads of a ranking removed: loss and accuracy, KL "
                         "to the unpruned output in nats, share of outputs that stayed, relative change.",
                .shape = {curve.rows(), curve.columns()}},
               curve.text());
}

std::string pruned_json(const PruneResult& result, std::size_t ranking, const std::string& checkpoint,
                        const std::string& model) {
  Json root = {{"model", model},
               {"checkpoint", checkpoint.empty() ? Json() : Json(checkpoint)},
               {"criterion", to_string(result.rankings[ranking].criterion)}};
  if (result.rankings[ranking].criterion == PruneCriterion::kRandom) root["seed"] = result.rankings[ranking].seed;
  root["heads"] = result.heads;
  root["removed"] = names(result.removed_heads(ranking));
  root["zero_already"] = names(result.zero);
  root["damage_measure"] = measure_name(result);
  root["damage"] = result.verdicts[ranking].damage;
  root["before"] = effect_json(result.curve.front().effect);
  root["after"] = effect_json(effect_at_budget(result, ranking));
  return root.dump(2) + "\n";
}

std::string chance_sentence(const PruneResult& result) {
  const RandomDamage random = random_damage(result);
  std::vector<PruneVerdict> structural;
  for (const PruneVerdict& verdict : result.verdicts) {
    if (is_structural(result.rankings[verdict.ranking].criterion)) structural.push_back(verdict);
  }
  if (structural.empty()) return "No structural criterion was asked for (information, redundancy, pk).";
  if (random.seeds == 0) return "Without random orders nothing says whether structure beats chance.";
  std::ranges::stable_sort(structural, {}, &PruneVerdict::damage);
  std::vector<PruneVerdict> winners;
  for (const PruneVerdict& verdict : structural) {
    if (verdict.better_than == random.seeds) winners.push_back(verdict);
  }
  const std::string orders =
      fmt::format("every one of {} random orders ({:.2f} to {:.2f})", random.seeds, random.least, random.most);
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

std::string prune_json(const PruneResult& result) {
  Json root = summary_json(result);
  root["said"] = chance_sentence(result);
  return root.dump(2) + "\n";
}

void print_prune_summary(std::ostream& out, const PruneResult& result) {
  const Effect& before = result.curve.front().effect;
  out << fmt::format("{} of {} heads removed", result.removed, result.heads);
  if (!result.zero.empty()) {
    std::vector<std::string> some;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, result.zero.size()); ++i)
      some.push_back(to_string(result.zero[i]));
    out << fmt::format("; {} were zero already: {}{}", result.zero.size(), fmt::join(some, " "),
                       result.zero.size() > some.size() ? " ..." : "");
  }
  const auto inputs = [](std::size_t count) { return fmt::format("{} input{}", count, count == 1 ? "" : "s"); };
  out << (result.held_out
              ? fmt::format("\nchosen on {}, measured on {} others\n", inputs(result.chosen_on), result.measured_on)
              : fmt::format("\nchosen and measured on the same {}\n", inputs(result.measured_on)));
  const std::string header = fmt::format("damage ({})", measure_name(result));
  out << fmt::format("  {:<9} {:>14} {:>9} {:>9} {:>9} {:>9}\n", "", header, "loss", "accuracy", "KL", "agreement");
  print_row(out, "nothing", before, 0, "");
  const RandomDamage random = random_damage(result);
  for (const PruneVerdict& verdict : result.verdicts) {
    const HeadRanking& one = result.rankings[verdict.ranking];
    if (one.criterion == PruneCriterion::kRandom) continue;
    const std::string name(to_string(one.criterion));
    const std::string note =
        verdict.random_p ? fmt::format("better than {} of {} random orders", verdict.better_than, random.seeds) : "";
    print_row(out, name, effect_at_budget(result, verdict.ranking), verdict.damage, note);
  }
  if (random.seeds > 0) {
    out << fmt::format("  {:<14} {:>9.4f} in the mean of {} orders; {:.4f} to {:.4f}\n", "random", random.mean,
                       random.seeds, random.least, random.most);
  }
  out << chance_sentence(result) << '\n';
}

void print_prune_json(std::ostream& out, const PruneResult& result, const std::vector<std::string>& files,
                      double seconds) {
  Json root = summary_json(result);
  root["said"] = chance_sentence(result);
  root["files"] = files;
  root["seconds"] = seconds;
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headscope::cli
