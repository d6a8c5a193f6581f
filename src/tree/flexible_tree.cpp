#include "headscope/tree/flexible_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "tree/diffusion.h"
#include "tree/point_distances.h"

namespace headscope {
namespace {

using Nodes = PartitionTree::Level;

struct NodePair {
  double distance;
  std::uint32_t first;  // first < second
  std::uint32_t second;

  [[nodiscard]] bool operator<(const NodePair& other) const noexcept {
    return std::tie(distance, first, second) < std::tie(other.distance, other.first, other.second);
  }
};

// Index of pair (p, q), p < q, of m nodes if the pairs are listed row by row.
std::size_t pair_index(std::size_t p, std::size_t q, std::size_t m) {
  return p * (2 * m - p - 1) / 2 + (q - p - 1);
}

// Row k is coordinate k of the elements, node after node, so that a node is a contiguous range of columns.
DoubleMatrix coordinates(const DiffusionModes& modes, std::span<const double> scales, const Nodes& nodes) {
  DoubleMatrix result(modes.vectors.rows(), modes.vectors.columns());
  for (std::size_t k = 0; k < result.rows(); ++k) {
    std::size_t column = 0;
    for (const auto& node : nodes) {
      for (const std::size_t element : node) result(k, column++) = scales[k] * modes.vectors(k, element);
    }
  }
  return result;
}

// Mean distance of every pair of nodes, in the order of `pair_index`.
std::vector<double> node_distances(const DoubleMatrix& points, const Nodes& nodes) {
  const std::size_t m = nodes.size();
  std::vector<std::size_t> begin(m + 1, 0);
  for (std::size_t p = 0; p < m; ++p) begin[p + 1] = begin[p] + nodes[p].size();

  std::vector<double> means(m * (m - 1) / 2);
  parallel_for(m - 1, [&](std::size_t p) {
    double* row = means.data() + pair_index(p, p + 1, m);
    std::vector<double> distances(points.columns() - begin[p + 1]);
    for (std::size_t i = begin[p]; i < begin[p + 1]; ++i) {
      point_distances(points, i, begin[p + 1], distances);
      const double* next = distances.data();
      for (std::size_t q = p + 1; q < m; ++q) {
        double sum = 0;
        for (std::size_t j = begin[q]; j < begin[q + 1]; ++j) sum += *next++;
        row[q - p - 1] += sum;
      }
    }
    for (std::size_t q = p + 1; q < m; ++q) {
      row[q - p - 1] /= static_cast<double>(nodes[p].size()) * static_cast<double>(nodes[q].size());
    }
  });
  return means;
}

// Median of the m x m matrix: it contains every pair twice, and infinity m times.
double median(std::vector<double> distances, std::size_t m) {
  const std::size_t k = m * m / 4;
  if (k >= distances.size()) return std::numeric_limits<double>::infinity();
  const auto upper = distances.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(distances.begin(), upper, distances.end());
  return m % 2 == 1 ? *upper : (*std::max_element(distances.begin(), upper) + *upper) / 2;
}

// Returns, in no particular order, the pairs that may join: those closer than the median or at distance 0, and the
// closest pair, which always joins.
std::vector<NodePair> candidates(std::span<const double> distances, std::size_t m, double med) {
  const double nearest = *std::min_element(distances.begin(), distances.end());
  const auto is_far = [&](double distance) { return distance >= med && distance > 0 && distance > nearest; };
  std::vector<NodePair> pairs;
  pairs.reserve(distances.size() - static_cast<std::size_t>(std::ranges::count_if(distances, is_far)));
  const double* next = distances.data();
  for (std::size_t p = 0; p < m; ++p) {
    for (std::size_t q = p + 1; q < m; ++q, ++next) {
      if (is_far(*next)) continue;
      pairs.push_back({*next, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(q)});
    }
  }
  return pairs;
}

// The clusters formed by the nodes of one level. Pairs are offered by ascending distance.
class Clusters {
 public:
  Clusters(std::size_t nodes, double med, double epsilon)
      : med_(med), epsilon_(epsilon), cluster_(nodes), size_(nodes, 1) {
    std::iota(cluster_.begin(), cluster_.end(), std::size_t{0});
  }

  void offer(const NodePair& pair) {
    const auto& [distance, first, second] = pair;
    // If more than half of the distances are zero, `med` is zero; identical nodes still join, in pairs. Otherwise there
    // would be one join per level, and n levels for n duplicates.
    if (joined_ && distance >= med_ && distance > 0) return;
    if (is_spent(pair)) return;
    const std::size_t a = size_[cluster_[first]];
    const std::size_t b = size_[cluster_[second]];
    const int exponent = 1 - static_cast<int>(std::min<std::size_t>(a * b, 10'000));
    if (a * b > 1 && distance >= std::ldexp(med_ / epsilon_, exponent)) return;

    const std::size_t target = b > 1 ? cluster_[second] : cluster_[first];
    cluster_[first] = cluster_[second] = target;
    size_[target] = a + b;
    joined_ = true;
  }
  // Returns whether both nodes have already joined others, so that they can no longer join each other.
  [[nodiscard]] bool is_spent(const NodePair& pair) const noexcept {
    return size_[cluster_[pair.first]] > 1 && size_[cluster_[pair.second]] > 1;
  }
  // Returns, for every node, the representative of its cluster.
  [[nodiscard]] std::vector<std::size_t> release() && noexcept { return std::move(cluster_); }

 private:
  double med_;
  double epsilon_;
  bool joined_ = false;
  std::vector<std::size_t> cluster_;
  std::vector<std::size_t> size_;
};

// Returns, for every node, the representative of its cluster. Usually only the closest pairs matter: sorts and offers
// some of them, drops those of the others that are spent by then, and repeats with twice as many.
std::vector<std::size_t> join(std::vector<double> distances, std::size_t m, double epsilon) {
  round_to_largest(distances);
  const double med = median(distances, m);
  std::vector<NodePair> pairs = candidates(distances, m, med);
  Clusters clusters(m, med, epsilon);
  for (std::size_t some = 4 * m; !pairs.empty(); some *= 2) {
    const auto end = pairs.begin() + static_cast<std::ptrdiff_t>(std::min(some, pairs.size()));
    if (end != pairs.end()) std::nth_element(pairs.begin(), end, pairs.end());
    std::sort(pairs.begin(), end);
    std::for_each(pairs.begin(), end, [&](const NodePair& pair) { clusters.offer(pair); });
    pairs.erase(pairs.begin(), end);
    std::erase_if(pairs, [&](const NodePair& pair) { return clusters.is_spent(pair); });
  }
  return std::move(clusters).release();
}

// Returns the clusters as nodes, in the order of their first nodes.
Nodes merged(const Nodes& nodes, std::span<const std::size_t> cluster) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> place(nodes.size(), kNone);
  Nodes result;
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    std::size_t& where = place[cluster[p]];
    if (where == kNone) {
      where = result.size();
      result.emplace_back();
    }
    result[where].insert(result[where].end(), nodes[p].begin(), nodes[p].end());
  }
  return result;
}

void check_options(const FlexibleTreeOptions& options) {
  if (!std::isfinite(options.epsilon) || options.epsilon <= 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("flexible_tree: epsilon is {}, expected a positive number", options.epsilon));
  }
  if (options.eigenpairs < 2) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("flexible_tree: {} eigenpairs, expected at least 2 (the first is constant)", options.eigenpairs));
  }
}

}  // namespace

PartitionTree flexible_tree(const DoubleMatrix& affinity, const FlexibleTreeOptions& options) {
  check_options(options);
  check_affinity(affinity, "flexible_tree");
  const DiffusionModes modes = diffusion_modes(affinity, options.eigenpairs - 1);
  std::vector<double> scales;  // (|lambda_k| / |lambda_2|)^t
  for (const double value : modes.values) scales.push_back(std::abs(value / modes.values[0]));

  Nodes nodes;
  for (std::size_t i = 0; i < affinity.rows(); ++i) nodes.push_back({i});
  std::vector<Nodes> levels = {nodes};
  while (nodes.size() > 1) {
    auto distances = node_distances(coordinates(modes, scales, nodes), nodes);
    nodes = merged(nodes, join(std::move(distances), nodes.size(), options.epsilon));
    levels.push_back(nodes);
    for (double& scale : scales) scale *= scale;
  }
  std::reverse(levels.begin(), levels.end());
  return PartitionTree(levels);
}

}  // namespace headscope
