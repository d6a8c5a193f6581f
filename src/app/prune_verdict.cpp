#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "headscope/app/prune.h"

namespace headscope {
namespace {

using Verdicts = std::vector<const PruneVerdict*>;

std::string_view name_of(const PruneResult& result, const PruneVerdict* one) {
  return to_string(result.rankings[one->ranking].criterion);
}

// "pk", "pk and norm", "pk, norm and greedy"
std::string list(const PruneResult& result, const Verdicts& some) {
  std::string text;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (i > 0) text += i + 1 == some.size() ? " and " : ", ";
    text += name_of(result, some[i]);
  }
  return text;
}

std::string_view unit(const PruneResult& result) {
  const Effect& effect = result.curve.front().effect;
  if (result.measure == DamageMeasure::kLoss && effect.before.loss) return "nats";
  return effect.kl ? "nats of KL" : "of relative change";
}

// The p that counts: the larger of both corrected ones.
double deciding_p(const PruneVerdict* one) {
  return std::max(one->plain->p_corrected, one->by_layer ? one->by_layer->p_corrected : 1);
}

// "costs 0.220 nats (p = 0.0496 against 120 random orders, p = 0.3 against 48 matched by layer)"
std::string cost_of(const PruneResult& result, const PruneVerdict* one) {
  const std::string by_layer = one->by_layer ? fmt::format(", p = {:.3g} against {} matched by layer",
                                                           one->by_layer->p_corrected, one->by_layer->orders)
                                             : "";
  return fmt::format("costs {:.3f} {} (p = {:.3g} against {} random orders{})", one->damage, unit(result),
                     one->plain->p_corrected, one->plain->orders, by_layer);
}

std::string headline(const PruneResult& result, const Verdicts& tried, const Verdicts& winners) {
  const std::string corrected = result.tried == 1 ? "" : fmt::format("; p is corrected for {} criteria", result.tried);
  const std::string all = fmt::format("{} tried ({})", result.tried, list(result, tried));
  if (winners.empty()) {
    const PruneVerdict* best = *std::ranges::min_element(
        tried, {}, [](const PruneVerdict* one) { return std::pair(deciding_p(one), one->damage); });
    if (result.tried == 1) {
      return fmt::format("No criterion beats random orders: {}, the only one tried, {}.", name_of(result, best),
                         cost_of(result, best));
    }
    return fmt::format("No criterion beats random orders, of {}: the closest is {}, which {}{}.", all,
                       name_of(result, best), cost_of(result, best), corrected);
  }
  std::vector<std::string> costs;
  for (const PruneVerdict* one : winners)
    costs.push_back(fmt::format("{} {}", name_of(result, one), cost_of(result, one)));
  return fmt::format("{} {} random orders, of {}: {}{}.", list(result, winners), winners.size() == 1 ? "beats" : "beat",
                     result.tried == 1 ? "one criterion tried" : all, fmt::join(costs, "; "), corrected);
}

// What plain orders cost, and those with as many heads per layer as the given criterion removes.
std::string control_costs(const PruneResult& result, const PruneVerdict* one) {
  std::string text = fmt::format("Random orders cost {:.3f} to {:.3f}, median {:.3f}", one->plain->least,
                                 one->plain->most, one->plain->median);
  if (one->by_layer) {
    text += fmt::format("; orders that remove as many heads of each layer as {} cost {:.3f} to {:.3f}, median {:.3f}",
                        name_of(result, one), one->by_layer->least, one->by_layer->most, one->by_layer->median);
  }
  return text + ".";
}

Verdicts select(const Verdicts& from, const std::function<bool(const PruneVerdict*)>& keep) {
  Verdicts kept;
  std::ranges::copy_if(from, std::back_inserter(kept), keep);
  return kept;
}

}  // namespace

std::vector<std::string> verdict(const PruneResult& result) {
  constexpr double kLevel = 0.05;
  Verdicts tried;
  for (const PruneVerdict& one : result.verdicts) {
    if (result.rankings[one.ranking].criterion != PruneCriterion::kRandom) tried.push_back(&one);
  }
  if (tried.empty()) return {"No criterion was tried, only random orders."};
  if (!tried.front()->plain) return {"Without random orders nothing says whether a criterion beats chance."};
  std::ranges::stable_sort(tried, {}, [](const PruneVerdict* one) { return one->damage; });
  const Verdicts winners = select(tried, [](const PruneVerdict* one) { return one->beats_random; });
  std::vector<std::string> sentences = {headline(result, tried, winners)};
  sentences.push_back(control_costs(result, winners.empty() ? tried.front() : winners.front()));

  for (const PruneVerdict* one : tried) {
    if (!one->by_layer || one->beats_random) continue;
    const double plain = one->plain->p_corrected;
    const double by_layer = one->by_layer->p_corrected;
    if (std::min(plain, by_layer) >= kLevel) continue;
    const bool only_plain = plain < kLevel;
    sentences.push_back(
        fmt::format("{} beats {} (p = {:.3g}), but not {} (p = {:.3g}).", name_of(result, one),
                    only_plain ? "plain random orders" : "orders matched by layer", only_plain ? plain : by_layer,
                    only_plain ? "orders matched by layer" : "plain random orders", only_plain ? by_layer : plain));
  }
  const Verdicts worse = select(tried, [](const PruneVerdict* one) { return one->damage > one->plain->median; });
  if (!worse.empty()) {
    sentences.push_back(fmt::format("{} {} more than the median random order.", list(result, worse),
                                    worse.size() == 1 ? "costs" : "cost"));
  }
  const Verdicts measured = select(tried, [&](const PruneVerdict* one) {
    const PruneCriterion criterion = result.rankings[one->ranking].criterion;
    return criterion == PruneCriterion::kAlone || criterion == PruneCriterion::kGreedy;
  });
  if (!measured.empty() && !result.held_out) {
    sentences.push_back(fmt::format("{} chose heads on the inputs that the damage is measured on, which flatters {}.",
                                    list(result, measured), measured.size() == 1 ? "it" : "them"));
  }
  // A criterion that stopped early has seen enough orders; the others saw all.
  const auto too_few = [&](const std::optional<ControlTest>& test) {
    return !test || static_cast<double>(result.tried) / static_cast<double>(1 + test->orders) >= kLevel;
  };
  const bool undecided = std::ranges::any_of(tried, [&](const PruneVerdict* one) {
    const auto perfect = [](const std::optional<ControlTest>& test) {
      return !test || test->better_than == test->orders;
    };
    return perfect(one->plain) && perfect(one->by_layer) && (too_few(one->plain) || too_few(one->by_layer));
  });
  if (undecided) {
    sentences.push_back(fmt::format("Too few random orders for a corrected p below {}: {} criteria need --orders {}.",
                                    kLevel, result.tried, 20 * result.tried));
  }
  return sentences;
}

}  // namespace headscope
