#include "headscope/relate/judgment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "relate/benjamini_hochberg.h"
#include "relate/later_pairs.h"

namespace headscope {
namespace {

bool contains(const std::vector<NullModel>& nulls, NullModel null) noexcept {
  return std::ranges::find(nulls, null) != nulls.end();
}

bool is_small(float log10_q) noexcept {
  return static_cast<double>(log10_q) <= std::log10(kChanceLevel);  // false for NaN
}

// q-values within a role pair. Pairs whose p is NaN have none, and do not count.
LaterValues q_values(LaterValues log10_p) {
  std::vector<float>& values = log10_p.values();
  if (std::ranges::none_of(values, [](float p) { return std::isnan(p); })) {
    values = log10_q_values(std::move(values));
    return log10_p;
  }
  std::vector<float> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](float p) { return !std::isnan(p); });
  known = log10_q_values(std::move(known));
  std::size_t next = 0;
  for (float& value : values) {
    if (!std::isnan(value)) value = known[next++];
  }
  return log10_p;
}

// Judges one role pair. Sets log10_q to the larger p of isotropic and matched, as far as there are any.
Judgment judge_pair(const Affinities& affinities, const NullPlan& plan, std::size_t dimension,
                    const MatchedLaw& matched) {
  Judgment judgment;
  judgment.log10_q = LaterValues(affinities, -std::numeric_limits<float>::infinity());
  judgment.z = LaterValues(affinities);
  for (const NullModel null : plan.used) {
    const NullJudge score = null_judge(affinities, null, dimension, matched);
    LaterValues log10_p(affinities);
    parallel_for(affinities.source.heads.size(), [&](std::size_t i) {
      for (std::size_t j = 0; j < affinities.target.heads.size(); ++j) {
        if (!is_later(affinities, i, j)) continue;
        const PairScore found = score(i, j);
        log10_p(i, j) = found.log10_p;
        if (null == plan.headline) judgment.z(i, j) = found.z;
        if (null != NullModel::kSpan) judgment.log10_q(i, j) = std::max(judgment.log10_q(i, j), found.log10_p);
      }
    });
    judgment.nulls.push_back({null, score, q_values(std::move(log10_p))});
  }
  judgment.span = &*std::ranges::find(judgment.nulls, NullModel::kSpan, &NullVerdict::null);
  return judgment;
}

// Replaces p by q over all role pairs.
void fill_joint_q(std::span<Judgment> judgments) {
  std::vector<float> all;
  std::size_t count = 0;
  for (const Judgment& one : judgments) count += one.log10_q.values().size();
  all.reserve(count);
  for (const Judgment& one : judgments) all.insert(all.end(), one.log10_q.values().begin(), one.log10_q.values().end());
  // One false edge per twenty models without wiring would be too many: this factor leaves one per two hundred.
  all = log10_q_values_if_dependent(std::move(all));
  auto next = all.cbegin();
  for (Judgment& one : judgments) {
    for (float& value : one.log10_q.values()) value = *next++;
  }
}

}  // namespace

bool NullPlan::uses(NullModel null) const noexcept {
  return contains(used, null);
}

NullPlan plan_nulls(const RelateOptions& options) {
  const Metric metric = options.metrics.front();
  NullPlan plan;
  plan.shown = options.nulls;
  for (const NullModel null : plan.shown) {
    if (!is_defined(null, metric)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("null '{}' is not defined for metric '{}'", to_string(null), info(metric).name));
    }
  }
  for (const NullModel null : {NullModel::kIsotropic, NullModel::kMatched, NullModel::kSpan}) {
    if (options.nulls.empty() && is_defined(null, metric)) plan.shown.push_back(null);
  }
  plan.used = plan.shown;
  const auto use = [&](NullModel null) {
    if (is_defined(null, metric) && !plan.uses(null)) plan.used.push_back(null);
  };
  use(NullModel::kIsotropic);
  use(NullModel::kSpan);
  if (!plan.uses(NullModel::kIsotropic)) use(NullModel::kMatched);
  plan.headline = plan.uses(NullModel::kMatched) ? NullModel::kMatched : NullModel::kSpan;
  return plan;
}

bool Judgment::beyond_chance(std::size_t i, std::size_t j) const noexcept {
  return is_small(log10_q(i, j));
}

bool Judgment::stands_out(std::size_t i, std::size_t j) const noexcept {
  return beyond_chance(i, j) && is_small(span->log10_q(i, j));
}

std::vector<Judgment> judge(std::span<const Affinities> affinities, const NullPlan& plan, std::size_t dimension,
                            std::span<const MatchedLaw> matched) {
  static const MatchedLaw kNone;
  std::vector<Judgment> judgments;
  judgments.reserve(affinities.size());
  for (std::size_t k = 0; k < affinities.size(); ++k) {
    judgments.push_back(judge_pair(affinities[k], plan, dimension, matched.empty() ? kNone : matched[k]));
  }
  fill_joint_q(judgments);
  return judgments;
}

std::vector<WiringCount> count_wiring(std::span<const Affinities> affinities, std::span<const Judgment> judgments) {
  std::vector<WiringCount> counts;
  WiringCount all;
  for (std::size_t k = 0; k < affinities.size(); ++k) {
    WiringCount one{affinities[k].pair};
    for_each_later(affinities[k], [&](std::size_t i, std::size_t j) {
      ++one.pairs;
      one.beyond_chance += judgments[k].beyond_chance(i, j) ? 1 : 0;
      one.stands_out += judgments[k].stands_out(i, j) ? 1 : 0;
    });
    all.pairs += one.pairs;
    all.beyond_chance += one.beyond_chance;
    all.stands_out += one.stands_out;
    counts.push_back(one);
  }
  counts.push_back(all);
  return counts;
}

std::vector<std::string> judgment_warnings(std::span<const Affinities> affinities, const NullPlan& plan) {
  std::vector<std::string> warnings;
  const Metric metric = affinities.front().metric;
  if (!plan.uses(NullModel::kMatched)) {
    warnings.push_back(fmt::format(
        "beyond_chance rests on the isotropic null alone, because {}: in a trained model, most pairs of heads are "
        "beyond it",
        is_defined(NullModel::kMatched, metric) ? "the matched null was not requested"
                                                : fmt::format("metric {} has no matched null", info(metric).name)));
  }
  std::size_t classes = 0;
  std::size_t small = 0;
  for (const Affinities& one : affinities) {
    std::map<std::size_t, std::size_t> sizes;
    const SpanClasses of_span(one);
    for_each_later(
        one, [&](std::size_t i, std::size_t j) { ++sizes[of_span.of(one.source.heads[i], one.target.heads[j])]; });
    classes += sizes.size();
    small += static_cast<std::size_t>(
        std::ranges::count_if(sizes, [](const auto& size) { return size.second < kSmallSpanClass; }));
  }
  if (small > 0) {
    warnings.push_back(fmt::format(
        "the span null has no power in {} of {} classes of pairs (role pair, layer distance): they have fewer than {} "
        "pairs",
        small, classes, kSmallSpanClass));
  }
  return warnings;
}

}  // namespace headscope
