#include "relate/stages.h"

#include <numeric>
#include <set>
#include <utility>

namespace headscope {

std::vector<double> stage_costs(const HeadSizes& sizes, const RelateOptions& options, bool matched) {
  const auto d = static_cast<double>(sizes.d_model);
  const auto h = static_cast<double>(sizes.d_head);
  const auto layers =
      static_cast<double>(options.affinity.layers.empty() ? sizes.layers : options.affinity.layers.size());
  double head_pairs = 0;
  std::set<Role> roles;
  for (const RolePair pair : options.pairs) {
    head_pairs += static_cast<double>(sizes.heads_of(pair.source) * sizes.heads_of(pair.target));
    roles.insert({pair.source, pair.target});
  }
  const double share = options.affinity.earlier_only ? 0.5 : 1;
  std::vector<double> costs;
  for (const Metric metric : options.metrics) {
    // A product in double and a decomposition that is no product.
    const double angles = info(metric).angles ? 4 * d * h * h + 100 * h * h * h : 0;
    costs.push_back(layers * layers * head_pairs * share * (2 * d * h * h + angles));
  }
  if (matched) {
    double heads = 0;
    for (const Role role : roles) heads += static_cast<double>(sizes.heads_of(role));
    costs.push_back(layers * heads * (d * d * h + 16 * d * h * h));
  }
  return costs;
}

Stages::Stages(const std::function<void(double)>& progress, std::vector<double> costs)
    : progress_(progress), costs_(std::move(costs)), total_(std::accumulate(costs_.begin(), costs_.end(), 0.0)) {}

std::function<void(double)> Stages::progress_of(std::size_t stage) const {
  if (!progress_) return {};
  const double before = std::accumulate(costs_.begin(), costs_.begin() + static_cast<std::ptrdiff_t>(stage), 0.0);
  return [this, before, cost = costs_[stage]](double share) { progress_((before + share * cost) / total_); };
}

}  // namespace headscope
