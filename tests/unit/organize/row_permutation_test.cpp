#include "headscope/organize/row_permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "headscope/base/random.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/sparsity_control.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

// Causal patterns of random scores; with `column`, all queries prefer the same keys.
NetworkTensor causal_maps(std::size_t heads, std::size_t n, double column = 0) {
  std::vector<float> values(heads * n * n, 0.0F);
  std::vector<double> preferred(n);
  Random random(7);
  for (double& one : preferred) one = column * random.normal();
  for (std::size_t row = 0; row < heads * n; ++row) {
    const std::size_t keys = row % n + 1;
    double sum = 0;
    std::vector<double> weights(keys);
    for (std::size_t k = 0; k < keys; ++k) sum += weights[k] = std::exp(random.normal() + preferred[k]);
    for (std::size_t k = 0; k < keys; ++k) values[row * n + k] = static_cast<float>(weights[k] / sum);
  }
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kCausal;
  return make_network_tensor(values, Shape{heads, n, n}, options, "maps");
}

std::vector<float> sorted_row(const NetworkTensor& tensor, std::size_t row) {
  const auto values = tensor.values.values().subspan(row * tensor.keys(), tensor.keys());
  std::vector<float> result(values.begin(), values.end());
  std::ranges::sort(result);
  return result;
}

TEST(RowPermutation, KeepsTheMaskAndTheValuesOfEveryRow) {
  const NetworkTensor maps = causal_maps(3, 20);
  for (const RowPermutation kind : {RowPermutation::kRows, RowPermutation::kKeys}) {
    const NetworkTensor control = permute_rows(maps, kind, 1, 0);
    EXPECT_EQ(control.present, maps.present);
    EXPECT_EQ(control.head_names, maps.head_names);
    std::size_t moved = 0;
    for (std::size_t row = 0; row < 60; ++row) {
      EXPECT_EQ(sorted_row(control, row), sorted_row(maps, row)) << row;
      for (std::size_t k = row % 20 + 1; k < 20; ++k) EXPECT_EQ(control.values.data()[row * 20 + k], 0);
      for (std::size_t k = 0; k < 20; ++k) {
        moved += control.values.data()[row * 20 + k] != maps.values.data()[row * 20 + k] ? 1 : 0;
      }
    }
    EXPECT_GT(moved, 300U);
  }
}

TEST(RowPermutation, DependsOnSeedDrawAndKindAlone) {
  const NetworkTensor maps = causal_maps(5, 12);
  const auto values = [](const NetworkTensor& tensor) {
    return std::vector<float>(tensor.values.values().begin(), tensor.values.values().end());
  };
  const std::vector<float> once = values(permute_rows(maps, RowPermutation::kRows, 3, 0));
  EXPECT_EQ(values(permute_rows(maps, RowPermutation::kRows, 3, 0)), once);
  EXPECT_NE(values(permute_rows(maps, RowPermutation::kRows, 3, 1)), once);
  EXPECT_NE(values(permute_rows(maps, RowPermutation::kRows, 4, 0)), once);
  for (std::size_t size = 2; size <= 4; ++size) {
    test::on_ranks(size, [&](Ranks& ranks) {
      const IndexRange share = partition_range(5, ranks.rank(), size);
      NetworkTensor own = causal_maps(5, 12);
      own.extents[0] = share.size();
      own.values = Buffer<float>(share.size() * 144);
      std::ranges::copy(maps.values.values().subspan(share.begin * 144, share.size() * 144), own.values.data());
      const TensorShare tensor(own, maps.head_names, ranks);
      const std::vector<float> part = values(permute_rows(tensor, RowPermutation::kRows, 3, 0));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), once.begin() + static_cast<std::ptrdiff_t>(share.begin * 144)));
    });
  }
}

// Variance of the attention relative to uniform between keys, over the rows of the second half.
double column_variance(const NetworkTensor& tensor) {
  const std::size_t n = tensor.keys();
  std::vector<double> mean(n / 2, 0);
  for (std::size_t q = n / 2; q < n; ++q) {
    for (std::size_t k = 0; k < n / 2; ++k) {
      mean[k] += static_cast<double>(tensor.values.data()[q * n + k]) * static_cast<double>(q + 1);
    }
  }
  const double all = std::accumulate(mean.begin(), mean.end(), 0.0) / static_cast<double>(mean.size());
  double variance = 0;
  for (const double one : mean) variance += (one - all) * (one - all);
  return variance;
}

TEST(RowPermutation, KeepsTheMeanAttentionToKeysIfAsked) {
  const NetworkTensor maps = causal_maps(1, 64, 1.0);
  const double found = column_variance(maps);
  EXPECT_GT(column_variance(permute_rows(maps, RowPermutation::kKeys, 0, 0)), 0.7 * found);
  EXPECT_LT(column_variance(permute_rows(maps, RowPermutation::kRows, 0, 0)), 0.2 * found);
}

TEST(SparsityControl, RandomMapsDoNotGain) {
  const NetworkTensor maps = causal_maps(12, 48);
  const Organization found = organize(maps);
  const SparsityValues figures = measure_figures(maps, found.head.tree, found.query.tree, found.key.tree);
  for (const RowPermutation kind : {RowPermutation::kRows, RowPermutation::kKeys}) {
    const ControlDraw control = draw_control(maps, kind, {}, 0, 0);
    EXPECT_EQ(control.head.size(), 12U);
    EXPECT_NEAR(gain_over(figures.network.l1, std::vector{control.figures.network.l1}).mean, 1, 0.05);
    std::size_t outside = 0;
    for (std::size_t h = 0; h < 12; ++h) {
      outside += std::abs(control.figures.heads[h].l1 / figures.heads[h].l1 - 1) > 0.05 ? 1 : 0;
    }
    EXPECT_LE(outside, 1U);
  }
}

TEST(SparsityControl, CommonKeysGainOnlyOverRows) {
  const NetworkTensor maps = causal_maps(12, 48, 1.0);
  const Organization found = organize(maps);
  const double l1 = measure_figures(maps, found.head.tree, found.query.tree, found.key.tree).network.l1;
  const double rows = draw_control(maps, RowPermutation::kRows, {}, 0, 0).figures.network.l1 / l1;
  const double keys = draw_control(maps, RowPermutation::kKeys, {}, 0, 0).figures.network.l1 / l1;
  EXPECT_GT(rows, 1.2);
  EXPECT_LT(keys, kNetworkGain);
}

TEST(SparsityControl, TheGainIsOfTheMeanAndItsRangeOfTheDraws) {
  const Gain gain = gain_over(2, std::vector<double>{2, 3, 4});
  EXPECT_DOUBLE_EQ(gain.mean, 1.5);
  EXPECT_DOUBLE_EQ(gain.low, 1);
  EXPECT_DOUBLE_EQ(gain.high, 2);
  EXPECT_TRUE(std::isnan(gain_over(2, {}).mean));
  EXPECT_EQ(gain_over(0, std::vector<double>{0}).mean, 1);
}

}  // namespace
}  // namespace headscope
