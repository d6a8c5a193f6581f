#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/tree/flexible_tree.h"
#include "headscope/tree/partition_tree.h"

/// The flexible tree implemented literally from its definition, in long double and using only the library's types.
namespace headscope::test::reference {

using Real = long double;
using Square = std::vector<std::vector<Real>>;
inline constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

struct Eigen {
  std::vector<Real> values;
  Square vectors;  // vectors[i][k]: element i of eigenvector k
};

// Cyclic Jacobi rotations.
inline Eigen jacobi(Square a) {
  const std::size_t n = a.size();
  Square v(n, std::vector<Real>(n, 0));
  for (std::size_t i = 0; i < n; ++i) v[i][i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::abs(a[p][q]) < 1e-25L) continue;
        const Real theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const Real t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const Real c = 1 / std::sqrt(t * t + 1);
        const Real s = t * c;
        const auto rotate = [&](Real& x, Real& y) {
          const Real old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        };
        for (std::size_t i = 0; i < n; ++i) rotate(a[i][p], a[i][q]);
        for (std::size_t i = 0; i < n; ++i) rotate(a[p][i], a[q][i]);
        for (std::size_t i = 0; i < n; ++i) rotate(v[i][p], v[i][q]);
      }
    }
  }
  Eigen result{{}, v};
  for (std::size_t i = 0; i < n; ++i) result.values.push_back(a[i][i]);
  return result;
}

// psi_k, k = 2, 3, ..., as rows, and |lambda_k|.
struct Modes {
  std::vector<Real> magnitudes;
  Square psi;
};

inline Modes make_modes(const DoubleMatrix& affinity, std::size_t eigenpairs) {
  const std::size_t n = affinity.rows();
  Square a(n, std::vector<Real>(n));
  Real largest = 0;
  for (const double value : affinity.values()) largest = std::max<Real>(largest, value);
  std::vector<std::size_t> empty;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] = affinity(i, j);
    if (std::accumulate(a[i].begin(), a[i].end(), Real(0)) == 0) empty.push_back(i);
  }
  for (const std::size_t i : empty) {
    for (const std::size_t j : empty) a[i][j] = largest > 0 ? largest : 1;
  }

  const auto row_sums = [&] {
    std::vector<Real> sums;
    for (const auto& row : a) sums.push_back(std::accumulate(row.begin(), row.end(), Real(0)));
    return sums;
  };
  const auto d = row_sums();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] /= d[i] * d[j];
  }
  const auto s = row_sums();
  const Real total = std::accumulate(s.begin(), s.end(), Real(0));
  for (std::size_t i = 0; i < n; ++i) {
    // Without the first pair, which contributes nothing to any distance.
    for (std::size_t j = 0; j < n; ++j) a[i][j] = a[i][j] / std::sqrt(s[i] * s[j]) - std::sqrt(s[i] * s[j]) / total;
  }

  const Eigen eigen = jacobi(a);
  std::vector<std::size_t> by_magnitude(n);
  std::iota(by_magnitude.begin(), by_magnitude.end(), std::size_t{0});
  std::sort(by_magnitude.begin(), by_magnitude.end(),
            [&](std::size_t x, std::size_t y) { return std::abs(eigen.values[x]) > std::abs(eigen.values[y]); });
  Modes modes;
  for (std::size_t k = 0; k < std::min(eigenpairs - 1, n); ++k) {
    const std::size_t column = by_magnitude[k];
    if (std::abs(eigen.values[column]) < 1e-14L) break;
    modes.magnitudes.push_back(std::abs(eigen.values[column]));
    modes.psi.emplace_back();
    for (std::size_t i = 0; i < n; ++i) modes.psi.back().push_back(eigen.vectors[i][column] / std::sqrt(s[i] / total));
  }
  return modes;
}

inline Square node_distances(const Modes& modes, const PartitionTree::Level& nodes, Real t) {
  const std::size_t m = nodes.size();
  Square distances(m, std::vector<Real>(m, kInfinity));
  Real largest = 0;
  for (std::size_t p = 0; p < m; ++p) {
    for (std::size_t q = 0; q < m; ++q) {
      if (p == q) continue;
      Real sum = 0;
      for (const std::size_t i : nodes[p]) {
        for (const std::size_t j : nodes[q]) {
          Real square = 0;
          for (std::size_t k = 0; k < modes.psi.size(); ++k) {
            square += std::pow(std::pow(modes.magnitudes[k], t) * (modes.psi[k][i] - modes.psi[k][j]), Real(2));
          }
          sum += std::sqrt(square);
        }
      }
      distances[p][q] = sum / static_cast<Real>(nodes[p].size() * nodes[q].size());
      largest = std::max(largest, distances[p][q]);
    }
  }
  // Distances that agree up to 2^-40 of the largest are ties.
  for (auto& row : distances) {
    for (Real& value : row) {
      if (largest > 0 && value < kInfinity) value = std::nearbyint(value / largest * 0x1p40L);
    }
  }
  return distances;
}

inline PartitionTree::Level join(const PartitionTree::Level& nodes, Square distances, Real epsilon) {
  const std::size_t m = nodes.size();
  std::vector<Real> all;
  for (const auto& row : distances) all.insert(all.end(), row.begin(), row.end());
  std::sort(all.begin(), all.end());
  const Real med = (all[(m * m - 1) / 2] + all[m * m / 2]) / 2;

  std::vector<std::vector<std::size_t>> clusters(m);  // lists of nodes
  std::vector<std::size_t> cluster_of(m);
  for (std::size_t p = 0; p < m; ++p) clusters[cluster_of[p] = p] = {p};
  std::vector<bool> spent(m, false);
  for (bool joined = false;;) {
    Real smallest = kInfinity;
    std::size_t row = 0;
    std::size_t column = 0;
    for (std::size_t p = 0; p < m; ++p) {
      for (std::size_t q = p + 1; q < m; ++q) {
        if ((spent[p] && spent[q]) || distances[p][q] >= smallest) continue;
        smallest = distances[p][q];
        row = p;
        column = q;
      }
    }
    if (smallest == kInfinity || (joined && smallest >= med && smallest > 0)) break;
    auto& mine = clusters[cluster_of[row]];
    auto& other = clusters[cluster_of[column]];
    const auto ab = static_cast<Real>(mine.size() * other.size());
    if (ab == 1 || smallest < med / epsilon * std::pow(Real(2), 1 - ab)) {
      spent[row] = spent[column] = joined = true;
      const std::size_t target = cluster_of[row];
      const auto moving = other;
      mine.insert(mine.end(), moving.begin(), moving.end());
      other.clear();
      for (const std::size_t node : moving) cluster_of[node] = target;
    } else {
      distances[row][column] = distances[column][row] = kInfinity;
    }
  }

  PartitionTree::Level result;
  for (std::size_t p = 0; p < m; ++p) {
    auto& cluster = clusters[cluster_of[p]];
    if (cluster.empty()) continue;
    result.emplace_back();
    for (const std::size_t node : cluster) {
      result.back().insert(result.back().end(), nodes[node].begin(), nodes[node].end());
    }
    cluster.clear();
  }
  return result;
}

inline PartitionTree flexible_tree(const DoubleMatrix& affinity, const FlexibleTreeOptions& options = {}) {
  const Modes modes = make_modes(affinity, options.eigenpairs);
  std::vector<PartitionTree::Level> levels(1);
  for (std::size_t i = 0; i < affinity.rows(); ++i) levels[0].push_back({i});
  for (Real t = 1; levels.front().size() > 1; t *= 2) {
    const auto& nodes = levels.front();
    levels.insert(levels.begin(), join(nodes, node_distances(modes, nodes, t), options.epsilon));
  }
  return PartitionTree(levels);
}

}  // namespace headscope::test::reference
