#include "headscope/relate/hub_significance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

// The pairs of heads of two layers in one role pair.
struct PairBlock {
  std::vector<std::size_t> sources = {};  // nodes
  std::vector<std::size_t> targets = {};
  std::vector<float> links = {};  // z of the pairs beyond chance; all others are 0

  [[nodiscard]] std::size_t size() const noexcept { return sources.size() * targets.size(); }
};

struct Moments {
  double mean = 0;
  double variance = 0;
};

// Nodes of one side by layer, with their rows or columns.
std::map<std::pair<Block, std::size_t>, std::vector<std::size_t>> by_layer(std::span<const ComponentId> nodes) {
  std::map<std::pair<Block, std::size_t>, std::vector<std::size_t>> layers;
  for (std::size_t i = 0; i < nodes.size(); ++i) layers[{nodes[i].block, nodes[i].depth()}].push_back(i);
  return layers;
}

class HubTest {
 public:
  HubTest(std::span<const HubEvidence> evidence, std::span<const ComponentId> nodes) : moments_(nodes.size()) {
    strengths_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) index_[nodes[i]] = i;
    for (const HubEvidence& one : evidence) add(one);
    for (const PairBlock& block : blocks_) add_moments(block);
  }

  [[nodiscard]] double strength(std::size_t node) const noexcept { return strengths_[node]; }

  // How far a strength is above its mean under permutation, in deviations; 0 if it cannot vary.
  [[nodiscard]] double excess(std::size_t node, double strength) const noexcept {
    const auto [mean, variance] = moments_[node];
    return variance > 1e-12 ? (strength - mean) / std::sqrt(variance) : 0;
  }

  // The largest excess over all heads after one permutation.
  [[nodiscard]] double largest_excess(Random& random) const {
    std::vector<double> sums(strengths_.size());
    std::vector<std::size_t> places;
    for (const PairBlock& block : blocks_) permute(block, random, places, sums);
    double largest = 0;
    for (std::size_t node = 0; node < sums.size(); ++node) largest = std::max(largest, excess(node, sums[node]));
    return largest;
  }

 private:
  void add(const HubEvidence& evidence) {
    for (const auto& [from, rows] : by_layer(evidence.sources)) {
      for (const auto& [to, columns] : by_layer(evidence.targets)) {
        PairBlock block;
        for (const std::size_t row : rows) block.sources.push_back(index_.at(evidence.sources[row]));
        for (const std::size_t column : columns) block.targets.push_back(index_.at(evidence.targets[column]));
        for (std::size_t i = 0; i < rows.size(); ++i) {
          for (std::size_t j = 0; j < columns.size(); ++j) {
            const float z = evidence.z(rows[i], columns[j]);
            if (z == 0 || !std::isfinite(z)) continue;
            block.links.push_back(z);
            strengths_[block.sources[i]] += static_cast<double>(z);
            strengths_[block.targets[j]] += static_cast<double>(z);
          }
        }
        block.links.shrink_to_fit();
        if (!block.links.empty()) blocks_.push_back(std::move(block));
      }
    }
  }

  // A sum of n of the N values of a block, drawn without replacement.
  void add_moments(const PairBlock& block) {
    const auto size = static_cast<double>(block.size());
    double sum = 0;
    double squares = 0;
    for (const float link : block.links) {
      const auto z = static_cast<double>(link);
      sum += z;
      squares += z * z;
    }
    const double mean = sum / size;
    const double variance = squares / size - mean * mean;
    const auto add = [&](std::size_t node, std::size_t count) {
      const auto n = static_cast<double>(count);
      moments_[node].mean += n * mean;
      if (size > 1) moments_[node].variance += n * variance * (size - n) / (size - 1);
    };
    for (const std::size_t node : block.sources) add(node, block.targets.size());
    for (const std::size_t node : block.targets) add(node, block.sources.size());
  }

  // Gives the links distinct random places, by the first steps of a Fisher-Yates shuffle.
  static void permute(const PairBlock& block, Random& random, std::vector<std::size_t>& places,
                      std::vector<double>& sums) {
    places.resize(block.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    for (std::size_t i = 0; i < block.links.size(); ++i) {
      std::swap(places[i], places[i + random.index(places.size() - i)]);
      const auto z = static_cast<double>(block.links[i]);
      sums[block.sources[places[i] / block.targets.size()]] += z;
      sums[block.targets[places[i] % block.targets.size()]] += z;
    }
  }

  std::map<ComponentId, std::size_t> index_;
  std::vector<PairBlock> blocks_;
  std::vector<double> strengths_;
  std::vector<Moments> moments_;
};

}  // namespace

void test_hubs(std::span<const HubEvidence> evidence, std::span<const ComponentId> nodes, std::vector<Hub>& hubs,
               const HubTestOptions& options) {
  const HubTest test(evidence, nodes);
  std::vector<double> largest(options.permutations);
  parallel_for(largest.size(), [&](std::size_t i) {
    Random random(options.seed, {i});
    largest[i] = test.largest_excess(random);
  });
  std::ranges::sort(largest);
  for (Hub& hub : hubs) {
    hub.strength = test.strength(hub.node);
    hub.excess = test.excess(hub.node, hub.strength);
    // Sums are added in another order than under permutation.
    const auto above = largest.end() - std::ranges::lower_bound(largest, hub.excess - 1e-9 * std::abs(hub.excess));
    hub.p_family = hub.excess > 0 ? (1 + static_cast<double>(above)) / (1 + static_cast<double>(largest.size())) : 1;
    hub.significant = hub.p_family <= options.level;
  }
  std::ranges::stable_sort(hubs, std::ranges::greater(), &Hub::excess);
}

}  // namespace headscope
