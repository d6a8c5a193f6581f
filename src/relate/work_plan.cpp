#include "relate/work_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "relate/head_selection.h"
#include "relate/matched_cost.h"

namespace headscope {
namespace {

// Of one metric: products of all pairs of layers that are not finished.
double flops_of(Metric metric, const HeadSizes& sizes, const HeadSelection& selection, const RelateOptions& options,
                const FinishedBlocks* finished) {
  const auto d = static_cast<double>(sizes.d_model);
  const std::size_t layers = selection.layers().size();
  const auto heads = [&](Role role, std::size_t layer) {
    return selection.heads(!info(metric).by_query_head() && is_key_value(role)).of(layer).size();
  };
  double flops = 0;
  for (const RolePair pair : options.pairs) {
    if (!is_defined(metric, pair)) continue;
    const auto p = static_cast<double>(sizes.width(pair.source));
    const auto q = static_cast<double>(sizes.width(pair.target));
    // A product in double and a decomposition that is no product.
    const double angles = info(metric).angles() ? 4 * d * p * q + 100 * std::pow(std::max(p, q), 3) : 0;
    double head_pairs = 0;
    const bool by_half = pair.source == pair.target && !info(metric).angles();
    for (std::size_t s = 0; s < layers; ++s) {
      for (std::size_t t = 0; t < layers; ++t) {
        const BlockLayer source = sizes.place(selection.layers()[s]);
        const BlockLayer target = sizes.place(selection.layers()[t]);
        const bool earlier = precedes(source, pair.source, target, pair.target) ||
                             (by_half && precedes(target, pair.target, source, pair.source));
        const bool related = stream_of(source.block, pair.source) == stream_of(target.block, pair.target);
        if (!related || (options.affinity.earlier_only && !earlier) || (by_half && s > t)) continue;
        const BlockId id{metric, pair.source, pair.target, selection.layers()[s], selection.layers()[t]};
        if (finished != nullptr && finished->has(id)) continue;
        head_pairs += static_cast<double>(heads(pair.source, s) * heads(pair.target, t));
      }
    }
    flops += head_pairs * (2 * d * p * q + angles);
  }
  return flops;
}

double flops_of_matched(const HeadSizes& sizes, const HeadSelection& selection, const RelateOptions& options) {
  const MatchedCost cost(sizes, options.matched.draws);
  std::set<Role> roles;
  std::set<std::pair<Role, bool>> draws;
  for (const RolePair pair : options.pairs) {
    roles.insert({pair.source, pair.target});
    draws.insert({{pair.source, false}, {pair.target, true}});
  }
  double flops = static_cast<double>(draws.size()) * cost.draws + static_cast<double>(options.pairs.size()) * cost.pair;
  for (const Role role : roles) {
    const std::size_t heads = selection.heads(is_key_value(role)).before(selection.layers().size());
    flops += cost.root + static_cast<double>(heads) * cost.head;
  }
  return flops;
}

// Comparing pairs of heads with every null, sorting them, and the eigenvectors of the communities; measured, and
// expressed as the flops of products that take as long.
double work_of_graph(const HeadSizes& sizes, const HeadSelection& selection, const RelateOptions& options,
                     std::size_t nulls) {
  constexpr double kEigenvectors = 10;  // per cube of nodes
  constexpr double kCompare = 1e4;      // per pair of heads and null
  const auto heads = [&](bool key_value) {
    return static_cast<double>(selection.heads(key_value).before(selection.layers().size()));
  };
  const double nodes = heads(false) + (sizes.kv_heads != sizes.heads ? heads(true) : 0);
  double head_pairs = 0;
  for (const auto [source, target] : options.pairs) {
    head_pairs += heads(is_key_value(source)) * heads(is_key_value(target));
  }
  return kEigenvectors * std::pow(nodes, 3) + kCompare * head_pairs * static_cast<double>(1 + nulls);
}

}  // namespace

std::vector<double> plan_work(const HeadSizes& sizes, const RelateOptions& options, std::span<const NullModel> nulls,
                              const FinishedBlocks* finished, std::size_t variants) {
  const AffinityOptions& affinity = options.affinity;
  const HeadSelection selection(sizes, affinity.layers, affinity.heads, affinity.named_heads);
  std::vector<double> work;
  for (const Metric metric : options.metrics) work.push_back(flops_of(metric, sizes, selection, options, finished));
  if (std::ranges::find(nulls, NullModel::kMatched) != nulls.end()) {
    work.push_back(flops_of_matched(sizes, selection, options));
  }
  if (variants > 0) {
    RelateOptions earlier = options;
    earlier.affinity.earlier_only = true;
    work.push_back(static_cast<double>(variants) *
                   flops_of(options.metrics.front(), sizes, selection, earlier, nullptr));
  }
  work.push_back(work_of_graph(sizes, selection, options, nulls.size()));
  return work;
}

std::vector<Context> split_by_work(const Context& context, std::span<const double> work) {
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  const auto share = [&](double done) { return total > 0 ? std::min(1.0, done / total) : 1; };
  std::vector<Context> stages;
  double before = 0;
  for (const double stage : work) {
    stages.push_back(context.part(share(before), share(before + stage)));
    before += stage;
  }
  return stages;
}

}  // namespace headscope
