#include "apply/prune_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "headscope/base/random.h"

namespace headscope {
namespace {

// Takes heads from the front of a list, subject to the layers' turns.
void take_in_turns(const PrunePlan& plan, std::vector<std::pair<HeadId, double>> heads, HeadRanking& ranking) {
  LayerTurns turns(plan);
  while (!heads.empty()) {
    const auto next = std::ranges::find_if(heads, [&](const auto& one) { return turns.has_turn(one.first.layer); });
    turns.take(next->first.layer);
    ranking.order.push_back(next->first);
    ranking.scores.push_back(next->second);
    heads.erase(next);
  }
}

class Redundancy {
 public:
  Redundancy(const PrunePlan& plan, const HeadStructure& structure, std::size_t heads)
      : plan_(plan),
        tree_(structure.tree_distance),
        maps_(structure.distance),
        heads_(heads),
        turns_(plan),
        there_(tree_.rows(), true),
        nearest_(tree_.rows(), kNone),
        sums_(tree_.rows()) {
    for (std::size_t i = 0; i < tree_.rows(); ++i) {
      find_nearest(i);
      for (std::size_t j = 0; j < tree_.rows(); ++j) sums_[i] += maps_(i, j);
    }
  }

  HeadRanking run() {
    HeadRanking ranking{PruneCriterion::kRedundancy, 0, {}, {}};
    std::vector<HeadId> left = plan_.removable;
    while (!left.empty()) {
      auto best = left.end();
      for (auto it = left.begin(); it != left.end(); ++it) {
        if (turns_.has_turn(it->layer) && (best == left.end() || key(*it) < key(*best))) best = it;
      }
      const std::size_t head = index(*best);
      ranking.order.push_back(*best);
      ranking.scores.push_back(nearest_[head] == kNone ? 1 : tree_(head, nearest_[head]));
      turns_.take(best->layer);
      left.erase(best);
      remove(head);
    }
    return ranking;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] std::size_t index(HeadId id) const { return id.layer * heads_ + id.head; }

  [[nodiscard]] std::tuple<bool, double, double, double> key(HeadId id) const {
    const std::size_t i = index(id);
    constexpr double kFar = std::numeric_limits<double>::infinity();
    const std::size_t other = nearest_[i];
    return {!plan_.zero.contains(id), other == kNone ? kFar : tree_(i, other), other == kNone ? kFar : maps_(i, other),
            sums_[i]};
  }

  void find_nearest(std::size_t i) {
    nearest_[i] = kNone;
    for (std::size_t j = 0; j < there_.size(); ++j) {
      if (j == i || !there_[j]) continue;
      const std::size_t best = nearest_[i];
      if (best == kNone || std::pair(tree_(i, j), maps_(i, j)) < std::pair(tree_(i, best), maps_(i, best))) {
        nearest_[i] = j;
      }
    }
  }

  void remove(std::size_t head) {
    there_[head] = false;
    for (std::size_t i = 0; i < there_.size(); ++i) {
      if (!there_[i]) continue;
      sums_[i] -= maps_(i, head);
      if (nearest_[i] == head) find_nearest(i);
    }
  }

  const PrunePlan& plan_;
  const DoubleMatrix& tree_;
  const DoubleMatrix& maps_;
  std::size_t heads_;
  LayerTurns turns_;
  std::vector<bool> there_;
  std::vector<std::size_t> nearest_;
  std::vector<double> sums_;
};

}  // namespace

HeadRanking order_by_score(PruneCriterion criterion, const PrunePlan& plan, std::span<const double> scores,
                           std::size_t heads) {
  std::vector<std::pair<HeadId, double>> sorted;
  for (const HeadId& id : plan.removable) sorted.emplace_back(id, scores[id.layer * heads + id.head]);
  std::ranges::stable_sort(sorted, {},
                           [&](const auto& one) { return std::pair(!plan.zero.contains(one.first), one.second); });
  HeadRanking ranking{criterion, 0, {}, {}};
  take_in_turns(plan, std::move(sorted), ranking);
  return ranking;
}

HeadRanking order_at_random(const PrunePlan& plan, std::uint64_t seed) {
  std::vector<HeadId> heads = plan.removable;
  Random random(seed);
  for (std::size_t i = heads.size(); i > 1; --i) std::swap(heads[i - 1], heads[random.index(i)]);
  std::stable_partition(heads.begin(), heads.end(), [&](const HeadId& id) { return plan.zero.contains(id); });
  std::vector<std::pair<HeadId, double>> listed;
  for (const HeadId& id : heads) listed.emplace_back(id, static_cast<double>(listed.size() + 1));
  HeadRanking ranking{PruneCriterion::kRandom, seed, {}, {}};
  take_in_turns(plan, std::move(listed), ranking);
  return ranking;
}

HeadRanking order_by_redundancy(const PrunePlan& plan, const HeadStructure& structure, std::size_t heads) {
  return Redundancy(plan, structure, heads).run();
}

HeadRanking order_greedily(const PrunePlan& plan, std::span<const double> alone, std::size_t candidates,
                           const std::function<double(std::span<const HeadId>)>& measure) {
  HeadRanking ranking{PruneCriterion::kGreedy, 0, {}, {}};
  LayerTurns turns(plan);
  std::vector<double> cost(alone.begin(), alone.end());  // damage that each head added when last measured
  std::vector<bool> gone(plan.removable.size());
  double so_far = 0;
  while (ranking.order.size() < plan.count) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (!gone[i] && turns.has_turn(plan.removable[i].layer)) open.push_back(i);
    }
    std::ranges::stable_sort(open, {},
                             [&](std::size_t i) { return std::pair(!plan.zero.contains(plan.removable[i]), cost[i]); });
    if (plan.zero.contains(plan.removable[open.front()])) {
      open.resize(1);  // nothing is cheaper than a head that is already zero
    } else if (candidates > 0 && open.size() > candidates) {
      open.resize(candidates);
    }
    std::size_t best = open.front();
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : open) {
      std::vector<HeadId> removed = ranking.order;
      removed.push_back(plan.removable[i]);
      const double damage = plan.zero.contains(plan.removable[i]) ? so_far : measure(removed);
      cost[i] = damage - so_far;
      if (damage < least) {
        least = damage;
        best = i;
      }
    }
    gone[best] = true;
    so_far = least;
    turns.take(plan.removable[best].layer);
    ranking.order.push_back(plan.removable[best]);
    ranking.scores.push_back(least);
  }
  return ranking;
}

}  // namespace headscope
