#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "headscope/tree/partition_tree.h"
#include "support/affinities.h"
#include "support/flexible_tree_reference.h"

/// Tree distances, Haar bases and the questionnaire implemented from their definitions, entry by entry, in double and
/// using only the library's types.
namespace headscope::test::reference {

using Levels = std::vector<PartitionTree::Level>;

/// A tensor [extent 0, extent 1, extent 2].
struct Tensor {
  std::array<std::size_t, 3> extents = {};
  std::vector<double> values = {};
  std::vector<std::uint8_t> present = {};  // empty: all are present
  bool absent_is_zero = true;

  [[nodiscard]] std::size_t index(std::array<std::size_t, 3> at) const {
    return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
  }
  [[nodiscard]] bool has(std::array<std::size_t, 3> at) const { return present.empty() || present[index(at)] != 0; }
  [[nodiscard]] double operator()(std::array<std::size_t, 3> at) const { return has(at) ? values[index(at)] : 0; }
};

/// The mean of slice s along `axis` over elements `first` of the first other axis and `second` of the second.
inline std::optional<double> folder_mean(const Tensor& x, std::size_t axis, std::size_t s,
                                         const std::vector<std::size_t>& first,
                                         const std::vector<std::size_t>& second) {
  double sum = 0;
  std::size_t count = 0;
  for (const std::size_t i : first) {
    for (const std::size_t j : second) {
      std::array<std::size_t, 3> at{};
      at[axis] = s;
      at[axis == 0 ? 1 : 0] = i;
      at[axis == 2 ? 1 : 2] = j;
      if (!x.has(at) && !x.absent_is_zero) continue;
      sum += x(at);
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

inline double weight(std::size_t size, std::size_t n, std::size_t level, double alpha, double beta) {
  return std::pow(static_cast<double>(size) / static_cast<double>(n), beta) *
         std::pow(2.0, (1 - static_cast<double>(level)) * alpha);
}

/// EMD between all pairs of slices along an axis, with trees on the two other axes in axis order.
inline DoubleMatrix emd(const Tensor& x, std::size_t axis, const Levels& first, const Levels& second, double alpha,
                        double beta) {
  const std::size_t n = x.extents[axis];
  DoubleMatrix result(n, n);
  const std::size_t n_first = first[0][0].size();
  const std::size_t n_second = second[0][0].size();
  for (std::size_t a = 0; a < first.size(); ++a) {
    for (const auto& i : first[a]) {
      for (std::size_t b = 0; b < second.size(); ++b) {
        for (const auto& j : second[b]) {
          const double w =
              weight(i.size(), n_first, a + 1, alpha, beta) * weight(j.size(), n_second, b + 1, alpha, beta);
          std::vector<std::optional<double>> means;
          for (std::size_t s = 0; s < n; ++s) means.push_back(folder_mean(x, axis, s, i, j));
          for (std::size_t s = 0; s < n; ++s) {
            for (std::size_t t = 0; t < n; ++t) {
              if (means[s] && means[t]) result(s, t) += w * std::abs(*means[s] - *means[t]);
            }
          }
        }
      }
    }
  }
  return result;
}

/// exp(-EMD / (epsilon * median)), with the median over the whole matrix, or over the nonzero entries if that is zero.
inline DoubleMatrix affinity_of(const DoubleMatrix& distances, double epsilon) {
  std::vector<double> all(distances.values().begin(), distances.values().end());
  std::sort(all.begin(), all.end());
  const auto middle = [&] { return all.empty() ? 1 : (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2; };
  double median = middle();
  if (median == 0) {
    std::erase(all, 0.0);
    median = middle();
  }
  DoubleMatrix result = distances;
  for (double& value : result.values()) value = std::exp(-value / (epsilon * median));
  return result;
}

/// Cosines of the slices along an axis over entries present in both, clamped below at 0.
inline DoubleMatrix cosines(const Tensor& x, std::size_t axis) {
  const std::size_t n = x.extents[axis];
  const std::size_t first = axis == 0 ? 1 : 0;
  const std::size_t second = axis == 2 ? 1 : 2;
  DoubleMatrix result(n, n);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t t = 0; t < n; ++t) {
      double dot = 0;
      double mine = 0;
      double other = 0;
      for (std::size_t i = 0; i < x.extents[first]; ++i) {
        for (std::size_t j = 0; j < x.extents[second]; ++j) {
          std::array<std::size_t, 3> a{};
          a[axis] = s;
          a[first] = i;
          a[second] = j;
          std::array<std::size_t, 3> b = a;
          b[axis] = t;
          if (!x.has(a) || !x.has(b)) continue;
          dot += x(a) * x(b);
          mine += x(a) * x(a);
          other += x(b) * x(b);
        }
      }
      const double norm = std::sqrt(mine) * std::sqrt(other);
      result(s, t) = s == t ? 1 : norm > 0 ? std::max(0.0, dot / norm) : 0;
    }
  }
  return result;
}

/// The Haar basis as a matrix; row k is the basis vector of coefficient k.
inline DoubleMatrix haar_basis(const PartitionTree& tree) {
  const std::size_t n = tree.size();
  DoubleMatrix basis(n, n);
  for (double& value : basis.row(0)) value = 1 / std::sqrt(static_cast<double>(n));
  std::size_t k = 1;
  for (std::size_t level = 0; level + 1 < tree.level_count(); ++level) {
    for (const auto& folder : tree.folders(level)) {
      std::vector<std::vector<std::size_t>> children;
      for (std::size_t c = folder.children_begin; c < folder.children_end; ++c) {
        const auto elements = tree.elements(tree.folders(level + 1)[c]);
        children.emplace_back(elements.begin(), elements.end());
      }
      std::stable_sort(children.begin(), children.end(), [](auto& a, auto& b) { return a.size() > b.size(); });
      for (std::size_t i = 0; i + 1 < children.size(); ++i, ++k) {
        double later = 0;
        for (std::size_t c = i + 1; c < children.size(); ++c) later += static_cast<double>(children[c].size());
        const auto mine = static_cast<double>(children[i].size());
        // 1/mine on the child, -1/later on the rest, normalized to unit length.
        const double length = std::sqrt(1 / mine + 1 / later);
        for (const std::size_t e : children[i]) basis(k, e) = 1 / mine / length;
        for (std::size_t c = i + 1; c < children.size(); ++c) {
          for (const std::size_t e : children[c]) basis(k, e) = -1 / later / length;
        }
      }
    }
  }
  return basis;
}

/// Coefficients of a tensor in the product of the Haar bases of the trees on its axes.
inline std::vector<double> haar_coefficients(const Tensor& x, const std::array<const PartitionTree*, 3>& trees) {
  std::vector<double> values(x.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = x.present.empty() || x.present[i] ? x.values[i] : 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (trees[axis] == nullptr) continue;
    const DoubleMatrix basis = haar_basis(*trees[axis]);
    const std::size_t n = x.extents[axis];
    std::size_t inner = 1;
    for (std::size_t later = axis + 1; later < 3; ++later) inner *= x.extents[later];
    std::vector<double> next(values.size(), 0);
    for (std::size_t at = 0; at < values.size(); ++at) {
      const std::size_t k = at / inner % n;
      const std::size_t line = at - k * inner;
      for (std::size_t e = 0; e < n; ++e) next[at] += basis(k, e) * values[line + e * inner];
    }
    values = std::move(next);
  }
  return values;
}

struct Organization {
  std::vector<PartitionTree> trees;      // by axis
  std::vector<DoubleMatrix> affinities;  // by axis
};

/// The questionnaire on three axes (head, query, key).
inline Organization questionnaire(const Tensor& x, std::size_t iterations, double alpha, double beta, double epsilon) {
  std::vector<DoubleMatrix> affinities(3);
  affinities[1] = cosines(x, 1);
  affinities[2] = cosines(x, 2);
  std::vector<std::optional<PartitionTree>> trees(3);
  for (const std::size_t axis : {1u, 2u}) trees[axis] = reference::flexible_tree(affinities[axis]);
  for (std::size_t i = 0; i < iterations; ++i) {
    for (const std::size_t axis : {0u, 1u, 2u}) {
      const Levels first = levels_of(*trees[axis == 0 ? 1 : 0]);
      const Levels second = levels_of(*trees[axis == 2 ? 1 : 2]);
      affinities[axis] = affinity_of(emd(x, axis, first, second, alpha, beta), epsilon);
      trees[axis] = reference::flexible_tree(affinities[axis]);
    }
  }
  return {{*trees[0], *trees[1], *trees[2]}, affinities};
}

}  // namespace headscope::test::reference
