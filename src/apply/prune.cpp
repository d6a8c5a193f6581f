#include "headscope/apply/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apply/prune_control.h"
#include "apply/prune_order.h"
#include "apply/prune_plan.h"
#include "headscope/apply/head_moments.h"
#include "headscope/apply/head_structure.h"
#include "headscope/apply/head_weight_scores.h"
#include "headscope/apply/output_bias.h"
#include "headscope/base/error.h"
#include "headscope/forward/ablation.h"

namespace headscope {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"information", "redundancy", "pk",     "norm",     "alone",
                                                    "greedy",      "random",     "energy", "variation"};

// Organizing the maps of one input takes about as long as this many forward passes.
constexpr double kOrganizePasses = 10;

// Tracks progress over the whole run, measured in forward passes.
class Work {
 public:
  Work(double total, const Context& context) : total_(total), context_(context) {}

  /// Returns the context of a part that takes `passes` passes and starts now.
  [[nodiscard]] Context piece(double passes) const { return context_.part(share(done_), share(done_ + passes)); }
  void finish(double passes) { done_ += passes; }

 private:
  [[nodiscard]] double share(double passes) const { return std::min(1.0, passes / total_); }

  double total_;
  const Context& context_;
  double done_ = 0;
};

void check(const PruneOptions& options, std::size_t inputs) {
  if (inputs == 0) throw Error(ErrorKind::kInvalidArgument, "no inputs to measure the damage on");
  if (options.choose_on >= inputs) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} of {} inputs are used to choose heads, so none is left to measure "
                            "the damage on",
                            options.choose_on, inputs));
  }
  if (!options.labels.empty() && options.labels.size() != inputs) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} labels for {} inputs, expected one per input", options.labels.size(), inputs));
  }
  const std::set<PruneCriterion> distinct(options.criteria.begin(), options.criteria.end());
  if (options.criteria.empty() || distinct.size() != options.criteria.size()) {
    throw Error(ErrorKind::kInvalidArgument, "expected at least one pruning criterion and no duplicates");
  }
  if (options.points == 0 || options.seeds == 0) {
    throw Error(ErrorKind::kInvalidArgument, "a curve needs at least one point, and random order at least one seed");
  }
}

// Replaces heads by their means, indexed by layer and head, or by zeros if there are none.
std::vector<HeadReplacement> replace_heads(const Model& model, std::span<const HeadId> heads,
                                           std::span<const std::vector<float>> means) {
  std::vector<HeadReplacement> all = zero_ablation(model, heads);
  if (means.empty()) return all;
  for (HeadReplacement& one : all) one.value = means[one.layer * model.info().sizes.heads + one.head];
  return all;
}

class Pruning {
 public:
  Pruning(const Model& model, std::span<const ModelInput> inputs, const PruneOptions& options, const Context& context)
      : model_(model),
        options_(options),
        plan_(make_plan(model, options)),
        choosing_(options.choose_on > 0 ? inputs.first(options.choose_on) : inputs),
        measuring_(inputs.subspan(options.choose_on)),
        work_(expected_passes(), context) {}

  PruneResult run() {
    result_.zero.assign(plan_.zero.begin(), plan_.zero.end());
    result_.removed = plan_.count;
    result_.heads = model_.info().sizes.layers * model_.info().sizes.heads;
    result_.chosen_on = choosing_.size();
    result_.measured_on = measuring_.size();
    result_.held_out = options_.choose_on > 0;
    result_.measure = options_.measure;
    result_.tried = tried();
    choose_replacement();
    for (const PruneCriterion criterion : options_.criteria) rank(criterion);
    if (options_.choose_on > 0) meter_.reset();  // its cached results for the other inputs fill half of the memory
    if (!meter_) meter_.emplace(make_meter(measuring_, options_.choose_on));
    for (std::size_t r = 0; r < result_.rankings.size(); ++r) measure_curve(r);
    if (asks_for(PruneCriterion::kRandom)) {
      compare_with_plain_orders();
      compare_with_layer_orders();
    }
    judge();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool asks_for(PruneCriterion criterion) const {
    return std::ranges::find(options_.criteria, criterion) != options_.criteria.end();
  }
  [[nodiscard]] std::size_t tried() const {
    return options_.criteria.size() - (asks_for(PruneCriterion::kRandom) ? 1 : 0);
  }
  [[nodiscard]] std::size_t structure_inputs() const { return std::min(choosing_.size(), options_.map_inputs); }

  [[nodiscard]] double expected_passes() const {
    const std::size_t rankings =
        options_.criteria.size() + (asks_for(PruneCriterion::kRandom) ? options_.seeds - 1 : 0);
    double passes = 4 + static_cast<double>(rankings * std::min(options_.points, plan_.count));
    if (asks_for(PruneCriterion::kInformation) || asks_for(PruneCriterion::kRedundancy)) {
      passes += kOrganizePasses * static_cast<double>(structure_inputs());
    }
    if (asks_for(PruneCriterion::kRandom)) {
      const std::size_t orders = control_orders(options_, tried());
      passes += static_cast<double>(std::max(orders, options_.seeds) - options_.seeds);
      if (!plan_.per_layer) passes += static_cast<double>(orders * tried());
    }
    const auto heads = static_cast<double>(plan_.removable.size());
    if (asks_for(PruneCriterion::kAlone) || asks_for(PruneCriterion::kGreedy)) passes += heads;
    if (asks_for(PruneCriterion::kGreedy)) passes += static_cast<double>(plan_.count) * step_candidates();
    return passes;
  }
  [[nodiscard]] double step_candidates() const {
    const std::size_t all = plan_.removable.size();
    return static_cast<double>(options_.candidates == 0 ? all : std::min(all, options_.candidates));
  }

  EffectMeter make_meter(std::span<const ModelInput> inputs, std::size_t first) {
    std::span<const std::size_t> labels = options_.labels;
    if (!labels.empty()) labels = labels.subspan(first, inputs.size());
    EffectMeter meter(model_, inputs, labels, work_.piece(1));
    work_.finish(1);
    return meter;
  }

  void choose_replacement() {
    const OutputBias bias = options_.replace ? OutputBias{} : find_output_bias(model_);
    result_.replacement = options_.replace.value_or(bias.kind == BiasKind::kNone ? Ablation::kZero : Ablation::kMean);
    result_.not_mean = bias.why_not;
    if (result_.replacement == Ablation::kMean) result_.means = moments().means;
  }

  const HeadMoments& moments() {
    if (moments_) return *moments_;
    moments_ = measure_head_moments(model_, choosing_, work_.piece(2));
    work_.finish(2);
    return *moments_;
  }

  Effect measure(std::span<const HeadId> removed) {
    Effect effect = meter_->measure(replace_heads(model_, removed, result_.means), work_.piece(1));
    work_.finish(1);
    return effect;
  }

  const HeadStructure& structure() {
    if (structure_) return *structure_;
    const double passes = kOrganizePasses * static_cast<double>(structure_inputs());
    HeadStructureOptions options;
    options.max_inputs = options_.map_inputs;
    options.skip_first = options_.skip_first;
    structure_ = measure_head_structure(model_, choosing_, options, work_.piece(passes));
    work_.finish(passes);
    return *structure_;
  }

  // Damage of removing each removable head alone; measured once.
  const std::vector<double>& alone() {
    if (!meter_) meter_.emplace(make_meter(choosing_, 0));
    if (!alone_.empty()) return alone_;
    for (const HeadId& id : plan_.removable) {
      const bool zero = plan_.zero.contains(id);
      alone_.push_back(zero ? 0 : damage(measure(std::span(&id, 1)), options_.measure));
    }
    return alone_;
  }

  void rank(PruneCriterion criterion) {
    const std::size_t heads = model_.info().sizes.heads;
    const auto by_score = [&](std::span<const double> scores) {
      result_.rankings.push_back(order_by_score(criterion, plan_, scores, heads));
    };
    switch (criterion) {
      case PruneCriterion::kEnergy:
        return by_score(moments().energy);
      case PruneCriterion::kVariation:
        return by_score(moments().variation);
      case PruneCriterion::kInformation:
        return by_score(structure().information);
      case PruneCriterion::kRedundancy:
        result_.rankings.push_back(order_by_redundancy(plan_, structure(), heads));
        return;
      case PruneCriterion::kPk:
        return by_score(pk_strengths(model_, {}, work_.piece(0)));
      case PruneCriterion::kNorm:
        return by_score(output_value_norms(model_));
      case PruneCriterion::kAlone: {
        std::vector<double> scores(result_.heads);
        for (std::size_t i = 0; i < plan_.removable.size(); ++i) {
          scores[plan_.removable[i].layer * heads + plan_.removable[i].head] = alone()[i];
        }
        return by_score(scores);
      }
      case PruneCriterion::kGreedy: {
        const std::vector<double>& start = alone();
        result_.rankings.push_back(order_greedily(
            plan_, start, options_.candidates,
            [&](std::span<const HeadId> removed) { return damage(measure(removed), options_.measure); }));
        return;
      }
      case PruneCriterion::kRandom:
        for (std::size_t s = 0; s < options_.seeds; ++s) {
          result_.rankings.push_back(order_at_random(plan_, options_.seed + s));
        }
        return;
    }
  }

  void measure_curve(std::size_t ranking) {
    if (!nothing_removed_) nothing_removed_ = meter_->measure({}, work_.piece(1));
    result_.curve.push_back({ranking, 0, *nothing_removed_});
    const std::size_t points = std::min(options_.points, plan_.count);
    const std::span<const HeadId> order = result_.rankings[ranking].order;
    for (std::size_t i = 1; i <= points; ++i) {
      const std::size_t removed = (i * plan_.count + points / 2) / points;
      result_.curve.push_back({ranking, removed, measure(order.first(removed))});
    }
    PruneVerdict verdict;
    verdict.ranking = ranking;
    verdict.damage = damage(result_.curve.back().effect, options_.measure);
    result_.verdicts.push_back(verdict);
  }

  [[nodiscard]] bool is_random(std::size_t ranking) const {
    return result_.rankings[ranking].criterion == PruneCriterion::kRandom;
  }

  double add_control(PruneControl control, std::size_t ranking, std::uint64_t seed, const Effect& effect) {
    const double cost = damage(effect, options_.measure);
    result_.controls.push_back({control, ranking, seed, cost, effect});
    return cost;
  }

  // The orders with curves, then others until no criterion needs more. All criteria share them.
  void compare_with_plain_orders() {
    std::vector<SequentialTest> tests;
    for (const PruneVerdict& verdict : result_.verdicts) tests.emplace_back(verdict.damage);
    const auto add = [&](std::uint64_t seed, const Effect& effect) {
      const double cost = add_control(PruneControl::kPlain, 0, seed, effect);
      for (SequentialTest& test : tests) test.add(cost);
    };
    for (const CurvePoint& point : result_.curve) {
      if (is_random(point.ranking) && point.removed == plan_.count) {
        add(result_.rankings[point.ranking].seed, point.effect);
      }
    }
    const auto open = [&] {
      for (std::size_t r = 0; r < tests.size(); ++r) {
        if (!is_random(r) && !tests[r].settled()) return true;
      }
      return false;
    };
    const std::size_t most = control_orders(options_, result_.tried);
    for (std::size_t s = options_.seeds; s < most && open(); ++s) {
      const HeadRanking ranking = order_at_random(plan_, options_.seed + s);
      add(ranking.seed, measure(std::span(ranking.order).first(plan_.count)));
    }
    for (std::size_t r = 0; r < tests.size(); ++r) {
      if (!is_random(r)) result_.verdicts[r].plain = tests[r].result(result_.tried);
    }
  }

  void compare_with_layer_orders() {
    const std::size_t most = control_orders(options_, result_.tried);
    for (PruneVerdict& verdict : result_.verdicts) {
      if (is_random(verdict.ranking) || most == 0) continue;
      if (plan_.per_layer) {
        verdict.by_layer = verdict.plain;
        continue;
      }
      const HeadRanking& ranking = result_.rankings[verdict.ranking];
      SequentialTest test(verdict.damage);
      for (std::size_t s = 0; s < most && !test.settled(); ++s) {
        const std::uint64_t seed = options_.seed + s;
        const std::vector<HeadId> heads =
            heads_by_layer(plan_, std::span(ranking.order).first(plan_.count), ranking.criterion, seed);
        test.add(add_control(PruneControl::kByLayer, verdict.ranking, seed, measure(heads)));
      }
      verdict.by_layer = test.result(result_.tried);
    }
  }

  void judge() {
    constexpr double kLevel = 0.05;
    const auto below = [](const std::optional<ControlTest>& test) { return test && test->p_corrected < kLevel; };
    for (PruneVerdict& verdict : result_.verdicts) {
      if (is_random(verdict.ranking)) continue;
      verdict.beats_random = below(verdict.plain) && below(verdict.by_layer);
      if (!result_.best || verdict.damage < result_.verdicts[*result_.best].damage) result_.best = verdict.ranking;
    }
  }

  const Model& model_;
  const PruneOptions& options_;
  PrunePlan plan_;
  std::span<const ModelInput> choosing_;
  std::span<const ModelInput> measuring_;
  Work work_;
  PruneResult result_;
  std::optional<HeadMoments> moments_;  // on the inputs for choosing
  std::optional<HeadStructure> structure_;
  std::optional<EffectMeter> meter_;  // on the inputs for choosing, then on those for measuring
  std::vector<double> alone_;
  std::optional<Effect> nothing_removed_;
};

}  // namespace

std::string_view to_string(PruneCriterion criterion) noexcept {
  return kNames[static_cast<std::size_t>(criterion)];
}

std::optional<PruneCriterion> parse_prune_criterion(std::string_view name) noexcept {
  for (const PruneCriterion criterion : kPruneCriteria) {
    if (to_string(criterion) == name) return criterion;
  }
  return std::nullopt;
}

std::string_view to_string(PruneControl control) noexcept {
  return control == PruneControl::kPlain ? "random" : "random-by-layer";
}

bool is_structural(PruneCriterion criterion) noexcept {
  return criterion == PruneCriterion::kInformation || criterion == PruneCriterion::kRedundancy ||
         criterion == PruneCriterion::kPk;
}

double damage(const Effect& effect, DamageMeasure measure) noexcept {
  if (measure == DamageMeasure::kLoss && effect.before.loss && effect.after.loss) {
    return *effect.after.loss - *effect.before.loss;
  }
  return effect.kl ? *effect.kl : effect.change;
}

std::vector<HeadId> PruneResult::removed_heads(std::size_t ranking) const {
  const std::vector<HeadId>& order = rankings[ranking].order;
  std::vector<HeadId> gone(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(removed));
  std::ranges::sort(gone);
  return gone;
}

std::vector<HeadReplacement> PruneResult::replacements(std::size_t ranking, const Model& model) const {
  return replace_heads(model, removed_heads(ranking), means);
}

PruneResult prune(const Model& model, std::span<const ModelInput> inputs, const PruneOptions& options,
                  const Context& context) {
  check(options, inputs.size());
  return Pruning(model, inputs, options, context).run();
}

}  // namespace headscope
