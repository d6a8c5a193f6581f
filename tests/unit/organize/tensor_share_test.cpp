// What ranks that share a tensor find of it is, to the bit, what one finds that has it whole.

#include "headscope/organize/tensor_share.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "headscope/organize/sparsity.h"
#include "headscope/organize/tensor_haar.h"
#include "organize/heads_to_positions.h"
#include "support/random.h"
#include "support/random_tree.h"
#include "support/tensor_parts.h"

namespace headscope {
namespace {

using Extents = std::array<std::size_t, 3>;

// Bits: also of NaN, which an exponent of too few coefficients is.
std::vector<std::uint64_t> bits(std::span<const double> numbers) {
  std::vector<std::uint64_t> result(numbers.size());
  if (!numbers.empty()) std::memcpy(result.data(), numbers.data(), numbers.size_bytes());
  return result;
}

struct Case {
  NetworkTensor tensor;
  PartitionTree head;
  PartitionTree query;
  PartitionTree key;
  HaarBasis of_head{head};
  HaarBasis of_query{query};
  HaarBasis of_key{key};

  [[nodiscard]] TensorHaar haar() const { return {tensor.extents, {&of_head, &of_query, &of_key}}; }
};

enum class Mask { kNone, kShared, kOwn };

Case make_case(const Extents& shape, MapKind kind, Mask mask, std::uint64_t seed) {
  std::vector<float> values = test::normals(shape[0] * shape[1] * shape[2], seed);
  NetworkTensorOptions options;
  options.kind = kind;
  std::vector<float> present;
  if (mask != Mask::kNone) {
    const std::size_t map = shape[1] * shape[2];
    present = test::normals(mask == Mask::kShared ? map : values.size(), seed + 1);
    for (float& value : present) value = value > -0.7F ? 1.0F : 0.0F;
    options.mask = {.kind = MaskChoice::Kind::kExplicit, .values = present, .shape = {shape[1], shape[2]}};
    if (mask == Mask::kOwn) options.mask.shape = {shape[0], shape[1], shape[2]};
  }
  return {make_network_tensor(values, shape, options, "shared"), test::random_tree(shape[0], seed + 2),
          test::random_tree(shape[1], seed + 3), test::random_tree(shape[2], seed + 4)};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back(make_case({7, 33, 45}, MapKind::kPattern, Mask::kNone, 1));
  all.push_back(make_case({5, 70, 64}, MapKind::kPattern, Mask::kShared, 2));
  all.push_back(make_case({5, 40, 64}, MapKind::kScores, Mask::kShared, 3));
  all.push_back(make_case({6, 64, 40}, MapKind::kScores, Mask::kOwn, 4));
  all.push_back(make_case({1, 60, 60}, MapKind::kPattern, Mask::kNone, 5));
  all.push_back(make_case({3, 2, 3}, MapKind::kPattern, Mask::kNone, 6));
  // Bins of so many coefficients that not all are looked at, and more coefficients than move at once.
  all.push_back(make_case({10, 400, 300}, MapKind::kPattern, Mask::kNone, 8));
  return all;
}

// The last are more than there are heads.
constexpr std::array<std::size_t, 5> kSizes = {1, 2, 3, 4, 9};

TEST(TensorShare, IsDealtOutInBlocksThatCoverAllPositions) {
  for (const std::size_t positions : {1u, 100u, 1024u, 5000u}) {
    for (const std::size_t ranks : kSizes) {
      const PositionShares shares(positions, 688, ranks);
      std::size_t end = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(shares.of(rank).begin, end);
        end = shares.of(rank).end;
        EXPECT_TRUE(end % 688 == 0 || end == positions);
      }
      EXPECT_EQ(end, positions);
    }
  }
}

TEST(TensorShare, HasAllHeadsOfItsPositionsAfterTheExchange) {
  // Maps of 4 MB: of two ranks, the one with five heads needs more rounds for them than the other.
  const Extents shape = {9, 1024, 1024};
  NetworkTensor tensor;
  tensor.extents = shape;
  tensor.values = Buffer<float>(shape[0] * shape[1] * shape[2]);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) tensor.values.values()[i] = static_cast<float>(i % 8388593);
  tensor.head_names.resize(shape[0]);
  const std::size_t map = tensor.map_size();
  for (const std::size_t size : {1u, 2u, 4u}) {
    test::on_shares(tensor, size, [&](const TensorShare& share) {
      const PositionShares positions(map, 1000, size);
      const IndexRange here = positions.of(share.ranks().rank());
      Buffer<float> found;
      heads_to_positions(
          share, positions, [&](std::size_t head, std::span<float> entries) { fill_map(share.own(), head, entries); },
          found);
      ASSERT_EQ(found.size(), shape[0] * here.size());
      for (std::size_t head = 0; head < shape[0]; ++head) {
        const auto row = found.values().subspan(head * here.size(), here.size());
        ASSERT_TRUE(std::ranges::equal(row, tensor.map(head).subspan(here.begin, here.size())));
      }
    });
  }
}

TEST(TensorShare, GivesTheScoreOfTheWhole) {
  for (const Case& c : cases()) {
    Buffer<float> work;
    for (const bool network : {true, false}) {
      TensorHaar haar = c.haar();
      if (!network) haar.bases[0] = nullptr;
      const double whole = coefficient_l1(c.tensor, haar, work);
      if (network) {
        const Buffer<float> filled = filled_values(c.tensor);
        std::vector<float> values(filled.values().begin(), filled.values().end());
        TensorHaar maps = haar;
        maps.bases[0] = nullptr;
        transform(values, maps, HaarDirection::kForward);
        EXPECT_EQ(whole, haar_l1(values, 1, c.of_head, c.tensor.map_size()));
      }
      for (const std::size_t size : kSizes) {
        test::on_shares(c.tensor, size, [&](const TensorShare& share) {
          Buffer<float> own;
          for (int again = 0; again < 2; ++again) EXPECT_EQ(coefficient_l1(share, haar, own), whole) << size;
        });
      }
    }
  }
}

void expect_same(const SparsityRow& found, const SparsityRow& expected) {
  EXPECT_EQ(found.name, expected.name);
  const auto figures = [](const SparsityRow& row) {
    std::vector<double> all;
    for (const SparsityFigures& some : {row.found, row.mean, row.low, row.high}) {
      const auto list = as_list(some);
      all.insert(all.end(), list.begin(), list.end());
    }
    for (const DecayPoint& point : row.decay) {
      all.insert(all.end(), {static_cast<double>(point.rank), point.found, point.shuffled});
    }
    return all;
  };
  EXPECT_EQ(bits(figures(found)), bits(figures(expected))) << found.name;
}

TEST(TensorShare, GivesTheSparsityOfTheWholeToRankZero) {
  for (const Case& c : cases()) {
    const SparsityOptions options{.draws = 2, .seed = 7, .entropy_terms = 40};
    const Sparsity whole = measure_sparsity(c.tensor, c.head, c.query, c.key, options).value();
    ASSERT_EQ(whole.heads.size(), c.tensor.heads());
    for (const std::size_t size : kSizes) {
      test::on_shares(c.tensor, size, [&](const TensorShare& share) {
        const std::optional<Sparsity> found = measure_sparsity(share, c.head, c.query, c.key, options);
        ASSERT_EQ(found.has_value(), share.ranks().is_root());
        if (!found) return;
        ASSERT_EQ(found->heads.size(), whole.heads.size());
        for (std::size_t h = 0; h < whole.heads.size(); ++h) expect_same(found->heads[h], whole.heads[h]);
        expect_same(found->network, whole.network);
      });
    }
  }
}

TEST(TensorShare, GivesAllCoefficientsToRankZeroOnce) {
  for (const Case& c : cases()) {
    const Buffer<float> filled = filled_values(c.tensor);
    std::vector<float> expected(filled.values().begin(), filled.values().end());
    transform(expected, c.haar(), HaarDirection::kForward);
    for (const std::size_t size : kSizes) {
      test::on_shares(c.tensor, size, [&](const TensorShare& share) {
        std::vector<float> found(expected.size(), 0.0F);
        std::size_t count = 0;
        stream_coefficients(share, c.haar(), [&](std::size_t first, std::span<const float> values) {
          ASSERT_LE(first + values.size(), found.size());
          std::ranges::copy(values, found.begin() + static_cast<std::ptrdiff_t>(first));
          count += values.size();
        });
        EXPECT_EQ(count, share.ranks().is_root() ? expected.size() : 0);
        if (share.ranks().is_root()) {
          EXPECT_EQ(found, expected);
        }
      });
    }
  }
}

}  // namespace
}  // namespace headscope
