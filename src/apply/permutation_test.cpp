#include "apply/permutation_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "headscope/base/random.h"

namespace headscope {
namespace {

constexpr double kMaxExact = 20000;
constexpr double kTolerance = 1e-9;  // equal statistics of reversed assignments differ by rounding

std::size_t draws_for(std::size_t comparisons) {
  constexpr std::size_t kMin = 10000;
  constexpr std::size_t kPerComparison = 100;  // five times what a corrected p of 0.05 needs
  return std::max(kMin, kPerComparison * comparisons);
}

// Number of assignments of inputs to the runs.
double assignments(std::size_t n, std::size_t m, bool pairs) {
  if (pairs) return std::pow(2.0, static_cast<double>(n));
  double ways = 1;
  for (std::size_t k = 1; k <= n; ++k) ways *= static_cast<double>(m + k) / static_cast<double>(k);
  return std::round(ways);
}

// One feature, prepared: a row per input, or per pair of inputs.
struct Prepared {
  std::vector<std::vector<double>> rows;  // centered over the inputs; for pairs the differences. Empty: not defined.
  std::size_t components = 0;
  double squares = 0;
};

bool is_whole(const std::vector<double>& sample) {
  return std::ranges::none_of(sample, [](double value) { return std::isnan(value); });
}

Prepared prepare_pairs(const TwoSamples& feature) {
  Prepared result;
  for (std::size_t i = 0; i < feature.a.size(); ++i) {
    std::vector<double> row;
    if (is_whole(feature.a[i]) && is_whole(feature.b[i])) {
      row = feature.b[i];
      for (std::size_t k = 0; k < row.size(); ++k) row[k] -= feature.a[i][k];
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

Prepared prepare_groups(const TwoSamples& feature) {
  Prepared result;
  for (const auto& side : {feature.a, feature.b}) {
    for (const auto& sample : side) result.rows.push_back(is_whole(sample) ? sample : std::vector<double>());
  }
  std::vector<double> mean;
  double count = 0;
  for (const auto& row : result.rows) {
    if (row.empty()) continue;
    mean.resize(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) mean[k] += row[k];
    ++count;
  }
  for (auto& row : result.rows) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] -= mean[k] / count;
  }
  return result;
}

Prepared prepare(const TwoSamples& feature, bool pairs) {
  Prepared result = pairs ? prepare_pairs(feature) : prepare_groups(feature);
  double largest = 0;
  for (const auto& row : result.rows) {
    result.components = std::max(result.components, row.size());
    for (const double value : row) result.squares += value * value;
  }
  // What centering equal samples leaves is rounding.
  for (const auto& side : {feature.a, feature.b}) {
    for (const auto& sample : side) {
      if (is_whole(sample)) {
        for (const double value : sample) largest = std::max(largest, std::abs(value));
      }
    }
  }
  if (std::sqrt(result.squares) <= kTolerance * 1e-3 * largest) result.squares = 0;
  return result;
}

// The fraction of the squares between the runs. `first` tells which rows belong to the first run, for pairs which are
// reversed.
double statistic(const Prepared& feature, const std::vector<char>& first, bool pairs, std::vector<double>& sum) {
  if (feature.squares <= 0) return 0;
  sum.assign(feature.components, 0.0);
  double n = 0;
  double m = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto& row = feature.rows[i];
    if (row.empty()) continue;
    (first[i] != 0 ? n : m) += 1;
    if (!pairs && first[i] == 0) continue;
    const double sign = pairs && first[i] == 0 ? -1 : 1;
    for (std::size_t k = 0; k < row.size(); ++k) sum[k] += sign * row[k];
  }
  double square = 0;
  for (const double value : sum) square += value * value;
  if (pairs) return square / ((n + m) * feature.squares);
  return n > 0 && m > 0 ? square * (n + m) / (n * m * feature.squares) : 0;
}

// Calls `use` with every assignment, or with random ones. The observed one is among them.
void for_each_assignment(std::size_t n, std::size_t m, bool pairs, std::size_t comparisons,
                         const std::function<void(const std::vector<char>&)>& use) {
  std::vector<char> first(pairs ? n : n + m, 1);
  if (!pairs) std::fill(first.begin() + static_cast<std::ptrdiff_t>(n), first.end(), 0);
  if (assignments(n, m, pairs) > kMaxExact) {
    use(first);
    Random random(0);
    for (std::size_t draw = draws_for(comparisons); draw > 0; --draw) {
      if (pairs) {
        for (char& one : first) one = static_cast<char>(random.index(2));
      } else {
        for (std::size_t i = first.size(); i > 1; --i) std::swap(first[i - 1], first[random.index(i)]);
      }
      use(first);
    }
  } else if (pairs) {
    for (std::size_t code = 0; code < std::size_t{1} << n; ++code) {
      for (std::size_t i = 0; i < n; ++i) first[i] = static_cast<char>(code >> i & 1U);
      use(first);
    }
  } else {
    do {
      use(first);
    } while (std::ranges::prev_permutation(first).found);
  }
}

}  // namespace

PermutationPs permutation_test(std::span<const TwoSamples> features, bool pairs, std::size_t comparisons) {
  const std::size_t count = features.size();
  PermutationPs result{std::vector<double>(count, 1.0), std::vector<double>(count, 1.0)};
  if (count == 0) return result;
  const std::size_t n = features.front().a.size();
  const std::size_t m = features.front().b.size();
  std::vector<Prepared> prepared;
  for (const TwoSamples& feature : features) prepared.push_back(prepare(feature, pairs));
  std::vector<char> observed_first(pairs ? n : n + m, 1);
  if (!pairs) std::fill(observed_first.begin() + static_cast<std::ptrdiff_t>(n), observed_first.end(), 0);
  std::vector<double> sum;
  std::vector<double> observed(count);
  for (std::size_t f = 0; f < count; ++f) {
    observed[f] = statistic(prepared[f], observed_first, pairs, sum) * (1 - kTolerance);
  }
  std::vector<std::size_t> order(count);  // least first
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t f) { return observed[f]; });

  double total = 0;
  std::vector<double> alone(count);
  std::vector<double> family(count);
  for_each_assignment(n, m, pairs, comparisons, [&](const std::vector<char>& first) {
    ++total;
    double largest = 0;
    for (const std::size_t f : order) {
      const double value = statistic(prepared[f], first, pairs, sum);
      largest = std::max(largest, value);
      if (value >= observed[f]) ++alone[f];
      if (largest >= observed[f]) ++family[f];
    }
  });
  double least = 0;  // a less extreme feature never has a smaller corrected p
  for (std::size_t k = count; k-- > 0;) {
    const std::size_t f = order[k];
    result.alone[f] = alone[f] / total;
    least = std::max(least, std::min(1.0, family[f] / total * static_cast<double>(comparisons)));
    result.family[f] = least;
  }
  return result;
}

double smallest_permutation_p(std::size_t n, std::size_t m, bool pairs, std::size_t comparisons) {
  const double ways = assignments(n, m, pairs);
  if (ways > kMaxExact) return 1 / (1 + static_cast<double>(draws_for(comparisons)));
  return std::min(1.0, (pairs || n == m ? 2 : 1) / ways);
}

}  // namespace headscope
