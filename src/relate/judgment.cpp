#include "relate/judgment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "headscope/base/error.h"
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

// The larger p of isotropic and matched, as far as there are any.
float chance_log10_p(const Judgment& judgment, std::size_t i, std::size_t j) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const Significance& one : judgment.nulls) {
    if (one.null != NullModel::kSpan) largest = std::max(largest, one.log10_p(i, j));
  }
  return largest;
}

void fill_joint_q(std::span<const Affinities> affinities, std::span<Judgment> judgments) {
  std::vector<float> p;
  for (std::size_t k = 0; k < affinities.size(); ++k) {
    for_each_later(affinities[k],
                   [&](std::size_t i, std::size_t j) { p.push_back(chance_log10_p(judgments[k], i, j)); });
  }
  // One false edge per twenty models without wiring would be too many: this factor leaves one per two hundred.
  const std::vector<float> q = log10_q_values_if_dependent(p);
  std::size_t next = 0;
  for (std::size_t k = 0; k < affinities.size(); ++k) {
    Matrix& out = judgments[k].log10_q;
    out = Matrix(affinities[k].values.rows(), affinities[k].values.columns());
    std::ranges::fill(out.values(), std::numeric_limits<float>::quiet_NaN());
    for_each_later(affinities[k], [&](std::size_t i, std::size_t j) { out(i, j) = q[next++]; });
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
  std::vector<Judgment> judgments(affinities.size());
  for (std::size_t k = 0; k < affinities.size(); ++k) {
    const MatchedLaw none;
    for (const NullModel null : plan.used) {
      judgments[k].nulls.push_back(significance(affinities[k], null, dimension, matched.empty() ? none : matched[k]));
    }
    const auto find = [&](NullModel null) {
      return &*std::ranges::find(judgments[k].nulls, null, &Significance::null);
    };
    judgments[k].span = find(NullModel::kSpan);
    judgments[k].headline = find(plan.headline);
  }
  fill_joint_q(affinities, judgments);
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
    std::map<std::size_t, std::size_t> sizes;  // by layer distance
    for_each_later(
        one, [&](std::size_t i, std::size_t j) { ++sizes[one.target.heads[j].layer - one.source.heads[i].layer]; });
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
