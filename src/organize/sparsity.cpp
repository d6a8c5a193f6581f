#include "headscope/organize/sparsity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/organize/tensor_haar.h"
#include "headscope/tree/tree_agreement.h"
#include "organize/magnitudes.h"

namespace headscope {
namespace {

constexpr std::array<const char*, 9> kNames = {"l1",       "needed_99", "top_0.1%", "top_1%", "top_10%",
                                               "error_1%", "error_10%", "entropy",  "alpha"};

SparsityFigures from_list(std::span<const double> list) {
  return {list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[8]};
}

// 1, 2, 3, 5, 7, 10, 20, ... up to the last.
std::vector<std::size_t> curve_ranks(std::size_t count) {
  std::vector<std::size_t> ranks;
  for (std::size_t decade = 1; decade <= count; decade *= 10) {
    for (const std::size_t digit : {1u, 2u, 3u, 5u, 7u}) {
      if (digit * decade <= count) ranks.push_back(digit * decade);
    }
  }
  return ranks;
}

// One measurement, under one set of trees.
struct Measured {
  SparsityFigures figures;
  Regularity regularity;
  std::vector<double> curve;
};

// Indices of the coefficients of largest support, ties by index.
std::vector<std::size_t> largest_supports(const TensorHaar& haar, std::size_t count) {
  // The largest products are among products of the largest factors: so many of each axis are enough.
  std::array<std::vector<std::size_t>, 3> order;
  const auto support = [&](std::size_t axis, std::size_t k) {
    return haar.bases[axis] == nullptr ? 1 : haar.bases[axis]->supports()[k];
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    order[axis].resize(haar.extents[axis]);
    std::iota(order[axis].begin(), order[axis].end(), std::size_t{0});
    std::stable_sort(order[axis].begin(), order[axis].end(),
                     [&](std::size_t a, std::size_t b) { return support(axis, a) > support(axis, b); });
    order[axis].resize(std::min(count, order[axis].size()));
  }
  std::vector<std::pair<double, std::size_t>> products;
  for (std::size_t a = 0; a < order[0].size(); ++a) {
    for (std::size_t b = 0; b < order[1].size() && (a + 1) * (b + 1) <= count; ++b) {
      for (std::size_t c = 0; c < order[2].size() && (a + 1) * (b + 1) * (c + 1) <= count; ++c) {
        const double product = support(0, order[0][a]) * support(1, order[1][b]) * support(2, order[2][c]);
        const std::size_t index = (order[0][a] * haar.extents[1] + order[1][b]) * haar.extents[2] + order[2][c];
        products.emplace_back(-product, index);
      }
    }
  }
  std::sort(products.begin(), products.end());
  products.resize(std::min(count, products.size()));
  std::vector<std::size_t> chosen;
  for (const auto& [ignored, index] : products) chosen.push_back(index);
  return chosen;
}

Measured summarize(std::span<const float> coefficients, const TensorHaar& haar, Magnitudes magnitudes,
                   std::size_t entropy_terms) {
  magnitudes.remove(coefficients[0]);
  const double count = std::max(1.0, magnitudes.count());
  const double energy = magnitudes.energy();
  const auto share = [&](double part) {
    return energy > 0 ? std::min(1.0, magnitudes.top_energy(std::max(1.0, std::floor(part * count))) / energy) : 0;
  };
  Measured result;
  SparsityFigures& figures = result.figures;
  figures.l1 = energy > 0 ? magnitudes.l1() / std::sqrt(energy) : 0;
  figures.needed_99 = magnitudes.needed(0.99 * energy) / count;
  figures.top_001 = share(0.001);
  figures.top_01 = share(0.01);
  figures.top_10 = share(0.1);
  figures.error_01 = energy > 0 ? std::sqrt(1 - figures.top_01) : 0;
  figures.error_10 = energy > 0 ? std::sqrt(1 - figures.top_10) : 0;
  for (const std::size_t index : largest_supports(haar, entropy_terms)) {
    figures.entropy += std::abs(static_cast<double>(coefficients[index]));
  }
  result.regularity = fit_regularity(coefficients, haar);
  figures.alpha = result.regularity.alpha;
  result.curve = magnitudes.at_ranks(curve_ranks(static_cast<std::size_t>(magnitudes.count())));
  for (double& value : result.curve) value = energy > 0 ? value / std::sqrt(energy) : 0;
  return result;
}

// Heads first, the network last.
std::vector<Measured> measure(const NetworkTensor& tensor, const std::array<const PartitionTree*, 3>& trees,
                              std::size_t entropy_terms, Buffer<float>& work) {
  const HaarBasis head(*trees[0]);
  const HaarBasis query(*trees[1]);
  const HaarBasis key(*trees[2]);
  const std::size_t map = tensor.map_size();
  std::vector<Measured> result(tensor.heads() + 1);
  fill_values(tensor, work);
  transform(work.values(), {tensor.extents, {nullptr, &query, &key}}, HaarDirection::kForward);
  const TensorHaar of_head{{1, tensor.queries(), tensor.keys()}, {nullptr, &query, &key}};
  parallel_for(tensor.heads(), [&](std::size_t h) {
    const auto coefficients = std::span<const float>(work.values()).subspan(h * map, map);
    Magnitudes magnitudes;
    magnitudes.add(coefficients);
    result[h] = summarize(coefficients, of_head, std::move(magnitudes), entropy_terms);
  });

  const TensorHaar of_network{tensor.extents, {&head, &query, &key}};
  haar_transform(work.values(), 1, head, map, HaarDirection::kForward);
  // Parts whose number does not depend on that of the threads.
  constexpr std::size_t kParts = 16;
  std::vector<Magnitudes> parts(kParts);
  const std::span<const float> all = work.values();
  parallel_for(kParts, [&](std::size_t p) {
    const std::size_t begin = p * all.size() / kParts;
    parts[p].add(all.subspan(begin, (p + 1) * all.size() / kParts - begin));
  });
  for (std::size_t p = 1; p < kParts; ++p) parts[0].add(parts[p]);
  result.back() = summarize(all, of_network, std::move(parts[0]), entropy_terms);
  return result;
}

// What the draws say about one head or the network.
void compare(SparsityRow& row, const Measured& found, std::span<const std::vector<Measured>> draws, std::size_t index,
             std::size_t coefficients) {
  row.found = found.figures;
  row.alpha_low = found.regularity.low;
  row.alpha_high = found.regularity.high;
  const auto n = static_cast<double>(draws.size());
  std::vector<double> mean(kNames.size(), 0);
  std::vector<double> square(kNames.size(), 0);
  for (const auto& draw : draws) {
    const auto list = as_list(draw[index].figures);
    for (std::size_t i = 0; i < list.size(); ++i) mean[i] += list[i] / n;
  }
  for (const auto& draw : draws) {
    const auto list = as_list(draw[index].figures);
    for (std::size_t i = 0; i < list.size(); ++i) square[i] += (list[i] - mean[i]) * (list[i] - mean[i]);
  }
  std::vector<double> low(mean);
  std::vector<double> high(mean);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double half = student_95(draws.size() - 1) * std::sqrt(square[i] / (n - 1) * (1 + 1 / n));
    low[i] -= half;
    high[i] += half;
  }
  row.mean = from_list(mean);
  row.low = from_list(low);
  row.high = from_list(high);
  const auto ranks = curve_ranks(coefficients - 1);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    double shuffled = 0;
    for (const auto& draw : draws) shuffled += draw[index].curve[r] / n;
    row.decay.push_back({ranks[r], found.curve[r], shuffled});
  }
}

void check(const NetworkTensor& tensor, const std::array<const PartitionTree*, 3>& trees,
           const SparsityOptions& options) {
  for (const TensorAxis axis : kTensorAxes) {
    const auto a = static_cast<std::size_t>(axis);
    if (trees[a]->size() == tensor.extents[a]) continue;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("sparsity: the {} tree has {} elements, the tensor {}",
                                                         to_string(axis), trees[a]->size(), tensor.extents[a]));
  }
  if (options.draws < 2) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("sparsity: {} draws of shuffled trees, expected at least 2", options.draws));
  }
}

}  // namespace

std::span<const char* const> sparsity_names() noexcept {
  return kNames;
}

std::vector<double> as_list(const SparsityFigures& f) {
  return {f.l1, f.needed_99, f.top_001, f.top_01, f.top_10, f.error_01, f.error_10, f.entropy, f.alpha};
}

Sparsity measure_sparsity(const NetworkTensor& tensor, const PartitionTree& head, const PartitionTree& query,
                          const PartitionTree& key, const SparsityOptions& options) {
  const std::array<const PartitionTree*, 3> trees = {&head, &query, &key};
  check(tensor, trees, options);
  Buffer<float> work;
  const auto report = [&](std::size_t done) {
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(options.draws + 1));
  };
  const std::vector<Measured> found = measure(tensor, trees, options.entropy_terms, work);
  report(1);
  std::vector<std::vector<Measured>> draws;
  for (std::size_t d = 0; d < options.draws; ++d) {
    const PartitionTree h = shuffled(head, options.seed, 3 * d);
    const PartitionTree q = shuffled(query, options.seed, 3 * d + 1);
    const PartitionTree k = shuffled(key, options.seed, 3 * d + 2);
    draws.push_back(measure(tensor, {&h, &q, &k}, options.entropy_terms, work));
    report(d + 2);
  }
  Sparsity result;
  result.heads.resize(tensor.heads());
  for (std::size_t i = 0; i < tensor.heads(); ++i) {
    result.heads[i].name = tensor.head_names[i];
    compare(result.heads[i], found[i], draws, i, tensor.map_size());
  }
  result.network.name = "network";
  compare(result.network, found.back(), draws, tensor.heads(), tensor.values.size());
  return result;
}

}  // namespace headscope
