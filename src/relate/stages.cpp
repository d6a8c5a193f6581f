#include "relate/stages.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/linalg/anisotropic_normal.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "relate/head_selection.h"
#include "relate/matched_cost.h"

namespace headscope {
namespace {

// Progress above which a stage's own estimate is used alone.
constexpr double kCertain = 0.2;

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Flops of one metric: the products of all layer pairs that are not finished.
double flops_of(Metric metric, const HeadSizes& sizes, const HeadSelection& selection, const RelateOptions& options) {
  const auto d = static_cast<double>(sizes.d_model);
  const auto h = static_cast<double>(sizes.d_head);
  // A product in double, and a decomposition.
  const double angles = info(metric).angles ? 4 * d * h * h + 100 * h * h * h : 0;
  const std::size_t layers = selection.layers().size();
  const auto heads = [&](Role role, std::size_t layer) {  // query heads throughout for the composition score
    return selection.heads(metric != Metric::kCs && is_key_value(role)).of(layer).size();
  };
  double head_pairs = 0;
  for (const RolePair pair : options.pairs) {
    if (!is_defined(metric, pair)) continue;
    const bool by_half = pair.source == pair.target && !info(metric).angles;
    for (std::size_t s = 0; s < layers; ++s) {
      for (std::size_t t = 0; t < layers; ++t) {
        if ((options.affinity.earlier_only && s >= t) || (by_half && s > t)) continue;
        const BlockId id{metric, pair.source, pair.target, selection.layers()[s], selection.layers()[t]};
        if (options.affinity.finished != nullptr && options.affinity.finished->has(id)) continue;
        head_pairs += static_cast<double>(heads(pair.source, s) * heads(pair.target, t));
      }
    }
  }
  return head_pairs * (2 * d * h * h + angles);
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

// Time to compare the pairs of heads with every null, sort them and build communities, on CPUs of 2020 to 2025.
double seconds_of_graph(const HeadSizes& sizes, const HeadSelection& selection, const RelateOptions& options,
                        std::size_t nulls) {
  constexpr double kTree = 0.13e-9;   // per cubed number of nodes: eigenvectors
  constexpr double kNode = 0.13e-6;   // per pair of nodes
  constexpr double kPair = 0.08e-6;   // per pair of heads and role pair
  constexpr double kNull = 0.075e-6;  // per pair of heads, role pair and null
  const auto heads = [&](bool key_value) {
    return static_cast<double>(selection.heads(key_value).before(selection.layers().size()));
  };
  const double nodes = heads(false) + (sizes.kv_heads != sizes.heads ? heads(true) : 0);
  double head_pairs = 0;
  for (const auto [source, target] : options.pairs) {
    head_pairs += heads(is_key_value(source)) * heads(is_key_value(target));
  }
  const std::size_t rounds = (nulls + thread_count() - 1) / thread_count();
  return kTree * std::pow(nodes, 3) + kNode * nodes * nodes +
         (kPair + kNull * static_cast<double>(rounds)) * head_pairs;
}

}  // namespace

std::vector<Stage> plan_stages(const HeadSizes& sizes, const RelateOptions& options, std::span<const NullModel> nulls) {
  const AffinityOptions& affinity = options.affinity;
  const HeadSelection selection(sizes, affinity.layers, affinity.heads, affinity.named_heads);
  std::vector<Stage> stages;
  for (const Metric metric : options.metrics) {
    stages.push_back({flops_of(metric, sizes, selection, options), !info(metric).angles});
  }
  if (std::ranges::find(nulls, NullModel::kMatched) != nulls.end()) {
    stages.push_back({flops_of_matched(sizes, selection, options), false});
  }
  stages.push_back({0, false, seconds_of_graph(sizes, selection, options, nulls.size())});
  return stages;
}

double seconds_of_flop(const HeadSizes& sizes) {
  const std::size_t size = sizes.d_model * sizes.d_head;
  const std::size_t count = thread_count();
  Buffer<float> columns(count * size);
  Buffer<float> bases(count * size);
  CovarianceSum sum(sizes.d_model);
  const auto columns_of = [&](std::size_t head) { return columns.values().subspan(head * size, size); };
  parallel_for(count, [&](std::size_t head) { Random(1, {head}).fill_normal(columns_of(head)); });
  double seconds = INFINITY;
  for (int trial = 0; trial < 3; ++trial) {  // the first trial waits for memory
    const double begin = clock_seconds();
    parallel_for(count, [&](std::size_t head) {
      static_cast<void>(orthonormal_basis(columns_of(head), sizes.d_model, sizes.d_head, 0,
                                          bases.values().subspan(head * size, size)));
    });
    sum.add(bases.values(), count * sizes.d_head);
    seconds = std::min(seconds, clock_seconds() - begin);
  }
  return seconds / (static_cast<double>(count) * MatchedCost(sizes, 1).head);
}

Stages::Stages(const std::function<void(double)>& progress, std::vector<Stage> stages, double on_processors,
               std::function<double()> now)
    : progress_(progress),
      stages_(std::move(stages)),
      on_processors_(on_processors),
      now_(std::move(now)),
      begin_(now_()),
      current_begin_(begin_),
      last_(begin_) {}

double Stages::steady_seconds() {
  return clock_seconds();
}

std::function<void(double)> Stages::progress_of(std::size_t stage) {
  if (!progress_) return {};
  return [this, stage](double share) { reach(stage, share); };
}

// Seconds per flop, from all stages of that kind so far.
double Stages::rate(bool on_engine, double seconds_here, double share_here) const {
  double seconds = 0;
  double flops = 0;
  for (std::size_t i = 0; i <= current_; ++i) {
    const bool counts = on_processors_ == 0 || stages_[i].on_engine == on_engine;
    if (!counts || stages_[i].flops == 0) continue;
    seconds += i < current_ ? seconds_[i] : seconds_here;
    flops += stages_[i].flops * (i < current_ ? 1 : share_here);
  }
  if (flops > 0) return seconds / flops;
  return on_engine ? 0 : on_processors_;
}

void Stages::reach(std::size_t stage, double share) {
  for (; current_ < stage; ++current_) {
    seconds_.push_back(last_ - current_begin_);  // its last report was at its end
    current_begin_ = last_;
  }
  last_ = now_();
  const double here = last_ - current_begin_;
  bool known = share > 0 || stages_[stage].flops == 0;
  double left = share > 0 ? here * (1 - share) / share : 0;
  const double before = stages_[stage].flops * rate(stages_[stage].on_engine, 0, 0) + stages_[stage].seconds;
  if (before > 0 && share < kCertain) {
    // Early on, a stage's own estimate is less reliable than the rate of earlier stages.
    const double trust = share / kCertain;
    left = trust * left + (1 - trust) * (1 - share) * before;
  }
  for (std::size_t i = stage + 1; i < stages_.size(); ++i) {
    left += stages_[i].seconds;
    if (stages_[i].flops == 0) continue;
    const double of_flop = rate(stages_[i].on_engine, here, share);
    known = known && of_flop > 0;
    left += stages_[i].flops * of_flop;
  }
  const double spent = last_ - begin_;
  if (known) reported_ = std::max(reported_, left > 0 ? spent / (spent + left) : 1);
  progress_(reported_);
}

}  // namespace headscope
