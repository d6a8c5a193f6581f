#include "headscope/relate/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

#include "headscope/base/rank_correlation.h"
#include "headscope/relate/later_values.h"
#include "headscope/relate/weight_variant.h"
#include "relate/later_pairs.h"

namespace headscope {
namespace {

struct Variant {
  ProcessingSteps steps;
  std::size_t removed = 0;
};

// Every variant other than the default itself.
std::vector<Variant> variants(const ModelInfo& info, ProcessingSteps by_default) {
  std::vector<Variant> all;
  for (const bool gain : {true, false}) {
    for (const bool center : {true, false}) {
      const ProcessingSteps steps{gain, center};
      // Without a norm before attention, the gain makes no difference.
      if (steps == by_default || (gain && info.order == NormOrder::kPost)) continue;
      all.push_back({steps});
    }
  }
  for (const std::size_t count : kRemovedDirections) {
    if (count <= info.sizes.d_model / 4) all.push_back({by_default, count});
  }
  return all;
}

// Closeness of every earlier-to-later pair; larger is closer.
std::vector<float> later_closeness(const Affinities& affinities) {
  const float sign = info(affinities.metric).distance ? -1.0F : 1.0F;
  std::vector<float> values;
  values.reserve(count_later(affinities));
  for_each_later(affinities, [&](std::size_t i, std::size_t j) { values.push_back(sign * affinities.values(i, j)); });
  return values;
}

std::vector<std::size_t> closest_first(std::span<const float> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return values[i]; });
  return order;
}

// The first `count` vectors of every role.
std::array<std::vector<float>, 4> first_of(std::array<std::vector<float>, 4> directions, std::size_t count,
                                           std::size_t d) {
  for (std::vector<float>& role : directions) role.resize(std::min(role.size(), count * d));
  return directions;
}

// The roles whose matrices the metric uses: for products also those of the other factor.
std::vector<Role> roles_of(Metric metric, std::span<const RolePair> pairs) {
  std::set<Role> roles;
  for (const RolePair pair : pairs) roles.insert({pair.source, pair.target});
  if (info(metric).factor == FactorKind::kProduct) roles = {Role::kQ, Role::kK, Role::kV, Role::kO};
  return {roles.begin(), roles.end()};
}

}  // namespace

Sensitivity compare_affinities(const Affinities& by_default, const Affinities& variant, std::size_t top) {
  const std::vector<float> a = later_closeness(by_default);
  const std::vector<float> b = later_closeness(variant);
  const std::vector<std::size_t> order_a = closest_first(a);
  const std::vector<std::size_t> order_b = closest_first(b);
  Sensitivity result;
  result.pair = by_default.pair;
  result.pairs = a.size();
  result.spearman = rank_correlation(std::span<const float>(a), std::span<const float>(b));
  result.top = std::min(top, a.size());
  const auto end = static_cast<std::ptrdiff_t>(result.top);
  const std::set<std::size_t> closest(order_a.begin(), order_a.begin() + end);
  result.top_overlap = static_cast<std::size_t>(
      std::count_if(order_b.begin(), order_b.begin() + end, [&](std::size_t i) { return closest.contains(i); }));
  return result;
}

std::size_t sensitivity_variants(const ModelInfo& info) noexcept {
  const std::size_t steps = info.order == NormOrder::kPost ? 1 : 3;
  return steps + static_cast<std::size_t>(std::ranges::count_if(
                     kRemovedDirections, [&](std::size_t count) { return count <= info.sizes.d_model / 4; }));
}

std::optional<std::vector<Sensitivity>> sensitivity(const Model& model, Metric metric, std::span<const RolePair> pairs,
                                                    std::span<const Affinities> defaults,
                                                    const AffinityOptions& options, std::size_t top,
                                                    const Context& context) {
  const std::size_t d = model.info().sizes.d_model;
  const ProcessingSteps by_default = steps_of(options.weights, model.info());
  const std::vector<Variant> all = variants(model.info(), by_default);
  std::size_t most = 0;
  for (const Variant& one : all) most = std::max(most, one.removed);
  const auto directions = common_directions(model, roles_of(metric, pairs), most, options, context.part(0, 0));
  std::vector<Sensitivity> result;
  for (std::size_t v = 0; v < all.size(); ++v) {
    const auto share = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(all.size()); };
    AffinityOptions changed = options;
    changed.earlier_only = true;
    changed.variant =
        std::make_shared<WeightVariant>(WeightVariant{all[v].steps, first_of(directions, all[v].removed, d)});
    const auto found = compute_affinities(model, metric, pairs, changed, context.part(share(v), share(v + 1)));
    for (std::size_t p = 0; found && p < found->size(); ++p) {
      Sensitivity one = compare_affinities(defaults[p], (*found)[p], top);
      one.steps = all[v].steps;
      one.removed = all[v].removed;
      one.variant = one.removed == 0 ? to_string(one.steps)
                                     : fmt::format("without {} direction{}", one.removed, one.removed == 1 ? "" : "s");
      result.push_back(std::move(one));
    }
  }
  if (!context.ranks.get().is_root()) return std::nullopt;
  return result;
}

}  // namespace headscope
