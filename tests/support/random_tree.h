#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "headscope/tree/partition_tree.h"
#include "support/affinities.h"

namespace headscope::test {

/// A random tree: every folder is split into one to four contiguous ranges of a random order, down to single elements.
inline PartitionTree random_tree(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<PartitionTree::Level> levels = {{random_permutation(n, seed + 1000)}};
  while (levels.back().size() < n) {
    PartitionTree::Level next;
    for (const auto& folder : levels.back()) {
      const std::size_t pieces = std::min<std::size_t>(folder.size(), 1 + random() % 4);
      for (std::size_t p = 0; p < pieces; ++p) {
        const auto begin = static_cast<std::ptrdiff_t>(p * folder.size() / pieces);
        const auto end = static_cast<std::ptrdiff_t>((p + 1) * folder.size() / pieces);
        next.emplace_back(folder.begin() + begin, folder.begin() + end);
      }
    }
    if (next.size() > levels.back().size()) levels.push_back(next);
  }
  return PartitionTree(levels);
}

}  // namespace headscope::test
