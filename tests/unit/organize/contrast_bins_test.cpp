#include "organize/contrast_bins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "support/random.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

using Extents = std::array<std::size_t, 3>;

struct Bases {
  HaarBasis head;
  HaarBasis query;
  HaarBasis key;
  Extents extents;

  explicit Bases(const Extents& shape)
      : head(test::random_tree(shape[0], 1)),
        query(test::random_tree(shape[1], 2)),
        key(test::random_tree(shape[2], 3)),
        extents(shape) {}
  [[nodiscard]] TensorHaar haar(bool network) const { return {extents, {network ? &head : nullptr, &query, &key}}; }
};

// Whether a coefficient is a contrast on every axis that has a basis and more than one element.
bool is_contrast(const TensorHaar& haar, std::size_t index) {
  const Extents at = {index / (haar.extents[1] * haar.extents[2]), index / haar.extents[2] % haar.extents[1],
                      index % haar.extents[2]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (haar.bases[axis] != nullptr && haar.extents[axis] > 1 && at[axis] == 0) return false;
  }
  return true;
}

BinSamples<float> sorted(BinSamples<float> samples) {
  for (auto& bin : samples) std::ranges::sort(bin);
  return samples;
}

TEST(ContrastBins, CountTheContrastsOfAVolume) {
  for (const Extents& shape : std::vector<Extents>{{1, 1, 1}, {1, 9, 1}, {6, 13, 20}, {17, 2, 30}}) {
    const Bases bases(shape);
    for (const bool network : {false, true}) {
      const TensorHaar haar = bases.haar(network);
      std::vector<std::size_t> counts(64, 0);
      std::vector<double> depths(64, 0);
      for (std::size_t i = 0; i < haar.size(); ++i) {
        if (!is_contrast(haar, i)) continue;
        const double depth = -std::log2(folder_volume(haar, i));
        const auto bin = static_cast<std::size_t>(std::lround(depth));
        ++counts[bin];
        depths[bin] += depth;
      }
      const ContrastBins bins(haar);
      for (std::size_t b = 0; b < counts.size(); ++b) {
        const ContrastBins::Bin found = b < bins.bins().size() ? bins.bins()[b] : ContrastBins::Bin{};
        EXPECT_EQ(found.count, counts[b]) << b;
        EXPECT_NEAR(found.depth, depths[b], 1e-12 * depths[b]) << b;
      }
    }
  }
}

TEST(ContrastBins, TakeAllOfSmallBins) {
  const Bases bases({6, 13, 20});
  const TensorHaar haar = bases.haar(true);
  const std::vector<float> c = test::normals(haar.size(), 4);
  const ContrastBins bins(haar);
  BinSamples<float> expected(bins.bins().size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!is_contrast(haar, i)) continue;
    expected[static_cast<std::size_t>(std::lround(-std::log2(folder_volume(haar, i))))].push_back(std::abs(c[i]));
  }
  BinSamples<float> found;
  for (std::size_t h = 0; h < 6; ++h) bins.sample(h, 0, std::span(c).subspan(h * 260, 260), found);
  EXPECT_EQ(sorted(found), sorted(expected));
}

TEST(ContrastBins, TakeTheSameOfPartsAsOfTheWhole) {
  const Extents shape = {20, 200, 150};
  const Bases bases(shape);
  const TensorHaar haar = bases.haar(true);
  const std::vector<float> c = test::normals(haar.size(), 5);
  const std::size_t map = shape[1] * shape[2];
  const ContrastBins bins(haar);
  BinSamples<float> whole;
  for (std::size_t h = 0; h < shape[0]; ++h) bins.sample(h, 0, std::span(c).subspan(h * map, map), whole);
  for (const std::size_t block : {97u, 688u, 29999u}) {
    BinSamples<float> parts;
    for (std::size_t begin = 0; begin < map; begin += block) {
      for (std::size_t h = 0; h < shape[0]; ++h) {
        BinSamples<float> part;
        bins.sample(h, begin, std::span(c).subspan(h * map + begin, std::min(block, map - begin)), part);
        add_samples(parts, std::move(part));
      }
    }
    EXPECT_EQ(sorted(parts), sorted(whole)) << block;
  }
}

TEST(ContrastBins, TakeAboutAsManyOfALargeBinSpreadOverIt) {
  const Extents shape = {40, 256, 377};  // keys: a Fibonacci number, whose multiples of the golden ratio are integers
  const Bases bases(shape);
  const TensorHaar haar = bases.haar(true);
  const std::size_t map = shape[1] * shape[2];
  const ContrastBins bins(haar);
  const auto largest = std::ranges::max_element(bins.bins(), {}, &ContrastBins::Bin::count);
  const auto bin = static_cast<std::size_t>(largest - bins.bins().begin());
  ASSERT_GT(largest->count, 4 * 65536u);
  // Coefficients that say which query, or which key, they belong to.
  for (const bool keys : {false, true}) {
    BinSamples<float> found;
    std::vector<double> all(keys ? shape[2] : shape[1], 0);
    for (std::size_t h = 0; h < shape[0]; ++h) {
      std::vector<float> c(map);
      for (std::size_t i = 0; i < map; ++i) {
        c[i] = static_cast<float>(keys ? i % shape[2] : i / shape[2]);
        const std::size_t index = h * map + i;
        if (is_contrast(haar, index) &&
            static_cast<std::size_t>(std::lround(-std::log2(folder_volume(haar, index)))) == bin) {
          ++all[static_cast<std::size_t>(c[i])];
        }
      }
      bins.sample(h, 0, std::span<const float>(c), found);
    }
    EXPECT_NEAR(static_cast<double>(found[bin].size()), 65536, 650);
    std::vector<double> taken(all.size(), 0);
    for (const float value : found[bin]) ++taken[static_cast<std::size_t>(value)];
    const double share = 65536 / static_cast<double>(largest->count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(taken[i], share * all[i], 6 * std::sqrt(share * all[i]) + 1) << i;
    }
  }
}

}  // namespace
}  // namespace headscope
