#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope::test {

/// Uniform in [0, 1). std::uniform_real_distribution differs between standard libraries.
inline double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Symmetric, ones on the diagonal, the rest in [0, 1).
inline DoubleMatrix random_affinity(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  DoubleMatrix affinity(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    affinity(i, i) = 1;
    for (std::size_t j = 0; j < i; ++j) affinity(i, j) = affinity(j, i) = uniform(random);
  }
  return affinity;
}

/// 1 within a group of `small` consecutive elements, 0.5 within one of `large`, 0.05 elsewhere, each reduced by a
/// random fraction of up to `noise`.
inline DoubleMatrix planted_affinity(std::size_t n, std::size_t small, std::size_t large, double noise,
                                     std::uint64_t seed) {
  DoubleMatrix affinity = random_affinity(n, seed);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double level = i / small == j / small ? 1 : i / large == j / large ? 0.5 : 0.05;
      affinity(i, j) = level * (1 - noise * (1 - affinity(i, j)));
    }
  }
  return affinity;
}

inline std::vector<std::size_t> random_permutation(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> permutation(n);
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(permutation[i - 1], permutation[random() % i]);
  return permutation;
}

/// Moves element i to position permutation[i].
inline DoubleMatrix permuted(const DoubleMatrix& affinity, const std::vector<std::size_t>& permutation) {
  DoubleMatrix result(affinity.rows(), affinity.columns());
  for (std::size_t i = 0; i < affinity.rows(); ++i) {
    for (std::size_t j = 0; j < affinity.columns(); ++j) result(permutation[i], permutation[j]) = affinity(i, j);
  }
  return result;
}

inline std::vector<PartitionTree::Level> levels_of(const PartitionTree& tree) {
  std::vector<PartitionTree::Level> levels(tree.level_count());
  for (std::size_t k = 0; k < levels.size(); ++k) {
    for (const auto& folder : tree.folders(k)) {
      const auto elements = tree.elements(folder);
      levels[k].emplace_back(elements.begin(), elements.end());
    }
  }
  return levels;
}

inline PartitionTree permuted(const PartitionTree& tree, const std::vector<std::size_t>& permutation) {
  auto levels = levels_of(tree);
  for (auto& level : levels) {
    for (auto& folder : level) {
      for (std::size_t& element : folder) element = permutation[element];
    }
  }
  return PartitionTree(levels);
}

/// Whether some level has a folder with exactly the elements [begin, end).
inline bool has_folder(const PartitionTree& tree, std::size_t begin, std::size_t end) {
  for (const auto& level : levels_of(tree)) {
    for (const auto& folder : level) {
      const auto [low, high] = std::minmax_element(folder.begin(), folder.end());
      if (*low == begin && *high == end - 1 && folder.size() == end - begin) return true;
    }
  }
  return false;
}

}  // namespace headscope::test
