#include "headscope/tree/tree_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

void check_sizes(std::size_t a, std::size_t b, const char* who) {
  if (a == b) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {} and {} elements, expected the same number", who, a, b));
}

double pairs(double n) {
  return n * (n - 1) / 2;
}

// Pearson correlation of a stream of pairs.
class Correlation {
 public:
  void add(double x, double y) {
    ++count_;
    const double dx = x - mean_x_;
    const double dy = y - mean_y_;
    mean_x_ += dx / count_;
    mean_y_ += dy / count_;
    xx_ += dx * (x - mean_x_);
    yy_ += dy * (y - mean_y_);
    xy_ += dx * (y - mean_y_);
  }
  [[nodiscard]] double value() const {
    if (xx_ <= 0 || yy_ <= 0) return std::numeric_limits<double>::quiet_NaN();
    return std::clamp(xy_ / (std::sqrt(xx_) * std::sqrt(yy_)), -1.0, 1.0);
  }

 private:
  double count_ = 0;
  double mean_x_ = 0;
  double mean_y_ = 0;
  double xx_ = 0;
  double yy_ = 0;
  double xy_ = 0;
};

// For every element of the tree's order and its successor, the size of the smallest folder that contains both. The
// maximum over a range is the size of the smallest folder that contains both ends of the range.
std::vector<double> steps_between_neighbors(const PartitionTree& tree) {
  std::vector<double> steps(tree.size(), 0);
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      for (std::size_t i = folder.begin; i + 1 < folder.end; ++i) steps[i] = static_cast<double>(folder.size());
    }
  }
  return steps;
}

DoubleMatrix cophenetic_distances(const PartitionTree& tree) {
  const std::size_t n = tree.size();
  const std::vector<double> steps = steps_between_neighbors(tree);
  DoubleMatrix result(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    double largest = 0;
    for (std::size_t j = i + 1; j < n; ++j) {
      largest = std::max(largest, steps[j - 1]);
      result(tree.order()[i], tree.order()[j]) = result(tree.order()[j], tree.order()[i]) = largest;
    }
  }
  return result;
}

}  // namespace

std::vector<std::size_t> classes_of_level(const PartitionTree& tree, std::size_t level) {
  std::vector<std::size_t> classes(tree.size());
  const auto folders = tree.folders(level);
  for (std::size_t f = 0; f < folders.size(); ++f) {
    for (const std::size_t element : tree.elements(folders[f])) classes[element] = f;
  }
  return classes;
}

double adjusted_rand_index(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  check_sizes(a.size(), b.size(), "adjusted_rand_index");
  std::map<std::pair<std::size_t, std::size_t>, double> both;
  std::map<std::size_t, double> in_a;
  std::map<std::size_t, double> in_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++both[{a[i], b[i]}];
    ++in_a[a[i]];
    ++in_b[b[i]];
  }
  double together = 0;
  double sum_a = 0;
  double sum_b = 0;
  for (const auto& [ignored, count] : both) together += pairs(count);
  for (const auto& [ignored, count] : in_a) sum_a += pairs(count);
  for (const auto& [ignored, count] : in_b) sum_b += pairs(count);
  const double expected = a.size() < 2 ? 0 : sum_a * sum_b / pairs(static_cast<double>(a.size()));
  const double most = (sum_a + sum_b) / 2;
  return most == expected ? 1 : (together - expected) / (most - expected);
}

std::vector<LevelAgreement> level_agreements(const PartitionTree& a, const PartitionTree& b) {
  check_sizes(a.size(), b.size(), "level_agreements");
  std::vector<LevelAgreement> result;
  if (b.level_count() < 3) return result;
  const auto log_count = [](const PartitionTree& tree, std::size_t level) {
    return std::log(static_cast<double>(tree.folders(level).size()));
  };
  for (std::size_t i = 1; i + 1 < a.level_count(); ++i) {
    std::size_t nearest = 1;
    for (std::size_t j = 2; j + 1 < b.level_count(); ++j) {
      const double target = log_count(a, i);
      if (std::abs(log_count(b, j) - target) < std::abs(log_count(b, nearest) - target)) nearest = j;
    }
    result.push_back({i, nearest, a.folders(i).size(), b.folders(nearest).size(),
                      adjusted_rand_index(classes_of_level(a, i), classes_of_level(b, nearest))});
  }
  return result;
}

double affinity_correlation(const DoubleMatrix& a, const DoubleMatrix& b) {
  check_sizes(a.rows(), b.rows(), "affinity_correlation");
  Correlation correlation;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = i + 1; j < a.rows(); ++j) correlation.add(a(i, j), b(i, j));
  }
  return correlation.value();
}

double cophenetic_correlation(const PartitionTree& a, const PartitionTree& b) {
  check_sizes(a.size(), b.size(), "cophenetic_correlation");
  return affinity_correlation(cophenetic_distances(a), cophenetic_distances(b));
}

PartitionTree shuffled(const PartitionTree& tree, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::size_t> name(tree.size());
  std::iota(name.begin(), name.end(), std::size_t{0});
  Random random(seed, {stream});
  for (std::size_t i = name.size(); i > 1; --i) std::swap(name[i - 1], name[random.index(i)]);
  std::vector<PartitionTree::Level> levels(tree.level_count());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      auto& elements = levels[level].emplace_back();
      for (const std::size_t element : tree.elements(folder)) elements.push_back(name[element]);
    }
  }
  return PartitionTree(levels);
}

}  // namespace headscope
