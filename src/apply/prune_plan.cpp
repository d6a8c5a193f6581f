#include "apply/prune_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/apply/pruned_checkpoint.h"
#include "headscope/base/error.h"

namespace headscope {
namespace {

void check_heads(const std::vector<HeadId>& heads, const HeadSizes& sizes) {
  for (const HeadId& id : heads) {
    if (!id.key_value && id.layer < sizes.layers && id.head < sizes.heads) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("there is no query head {}; the model has {} layers of {} heads", to_string(id),
                            sizes.layers, sizes.heads));
  }
}

// Number of heads to remove out of `heads`, of which `available` are removable.
std::size_t resolve(const PruneBudget& budget, std::size_t heads, std::size_t available, const std::string& of) {
  if (!(budget.fraction >= 0 && budget.fraction <= 1)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the share of heads to remove is {}, expected a number from 0 to 1", budget.fraction));
  }
  const std::size_t count =
      budget.count.value_or(static_cast<std::size_t>(std::lround(budget.fraction * static_cast<double>(heads))));
  if (count == 0)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the budget removes none of the {} heads; increase it", heads));
  if (count > available) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("the budget removes {} heads{}, but only {} of {} may be removed", count, of, available, heads));
  }
  return count;
}

}  // namespace

PrunePlan make_plan(const Model& model, const PruneOptions& options) {
  const HeadSizes& sizes = model.info().sizes;
  check_heads(options.removable, sizes);
  check_heads(options.kept, sizes);
  PrunePlan plan;
  plan.per_layer = options.budget.per_layer;
  std::vector<std::size_t> available(sizes.layers);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      const HeadId id{layer, head};
      const bool chosen =
          options.removable.empty() || std::ranges::find(options.removable, id) != options.removable.end();
      if (!chosen || std::ranges::find(options.kept, id) != options.kept.end()) continue;
      plan.removable.push_back(id);
      ++available[layer];
    }
  }
  if (plan.per_layer) {
    for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
      const auto of_layer = [&](const HeadId& id) { return id.layer == layer; };
      if (!options.removable.empty() && std::ranges::none_of(options.removable, of_layer)) continue;
      plan.count += resolve(options.budget, sizes.heads, available[layer], fmt::format(" of layer {}", layer));
    }
  } else {
    plan.count = resolve(options.budget, sizes.layers * sizes.heads, plan.removable.size(), "");
  }
  for (const HeadId& id : zero_heads(model)) plan.zero.insert(id);
  return plan;
}

LayerTurns::LayerTurns(const PrunePlan& plan) : per_layer_(plan.per_layer) {
  const std::size_t layers = plan.removable.empty() ? 0 : plan.removable.back().layer + 1;
  taken_.resize(layers);
  left_.resize(layers);
  for (const HeadId& id : plan.removable) ++left_[id.layer];
}

bool LayerTurns::has_turn(std::size_t layer) const {
  if (!per_layer_) return true;
  for (std::size_t other = 0; other < taken_.size(); ++other) {
    if (left_[other] > 0 && taken_[other] < taken_[layer]) return false;
  }
  return true;
}

void LayerTurns::take(std::size_t layer) {
  ++taken_[layer];
  --left_[layer];
}

}  // namespace headscope
