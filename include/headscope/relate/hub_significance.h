#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headscope/relate/hubs.h"

namespace headscope {

/// z of the pairs of heads, or other components, of one role pair.
struct HubEvidence {
  std::vector<ComponentId> sources = {};
  std::vector<ComponentId> targets = {};
  /// By source and target; 0 for pairs that are not beyond chance or not compared. Called once per pair.
  std::function<float(std::size_t, std::size_t)> z = {};
};

struct HubTestOptions {
  std::size_t permutations = 1000;
  std::uint64_t seed = 0;
  double level = 0.05;
};

/// Tests whether heads have more to do with others than chance and their layers explain.
///
/// The strength of a head is the sum of z over all of its pairs, in both directions and all role pairs. z is permuted
/// within each block (role pair, source layer, target layer), which keeps how strongly two layers are connected and
/// gives the links to random heads of them. Under permutation a strength has a known mean and deviation; `excess` is
/// the distance from that mean in deviations, 0 for a component that is alone in its layer, such as an MLP. `p_family`
/// is the share of permutations, (1 + count) / (1 + permutations), whose largest excess over all heads is at least the
/// head's: it is corrected for the number of heads.
///
/// Sets strength, excess, p_family and significant, and sorts by excess; heads with equal excess keep their order. The
/// result does not depend on the number of threads. Cost: O(permutations * pairs of heads), and 4
/// bytes per pair beyond chance.
void test_hubs(std::span<const HubEvidence> evidence, std::span<const ComponentId> nodes, std::vector<Hub>& hubs,
               const HubTestOptions& options = {});

}  // namespace headscope
