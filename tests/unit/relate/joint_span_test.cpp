#include "relate/joint_span.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headscope/linalg/matrix_product.h"
#include "relate/head_factors.h"
#include "support/random.h"

namespace headscope {
namespace {

constexpr std::size_t kD = 120;
constexpr std::size_t kWidth = 8;
constexpr std::size_t kHeads = 12;
constexpr std::size_t kRank = 40;

Buffer<float> buffer_of(const std::vector<float>& values) {
  Buffer<float> buffer(values.size());
  std::ranges::copy(values, buffer.data());
  return buffer;
}

// Heads whose columns are combinations of `rank` vectors.
FactorWeights latent_heads(std::uint64_t seed, std::size_t rank = kRank) {
  const std::vector<float> latent = test::normals(rank * kD, seed);
  const std::vector<float> own = test::normals(kHeads * kWidth * rank, seed + 1);
  std::vector<float> columns(kHeads * kWidth * kD);
  multiply(MatrixView(own.data(), kHeads * kWidth, rank, rank), MatrixView(latent.data(), rank, kD, kD),
           MatrixSpan(columns.data(), kHeads * kWidth, kD, kD));
  FactorWeights weights;
  weights.outer = HeadWeights(Role::kK, kD, kWidth, buffer_of(columns));
  for (std::size_t i = 0; i < kHeads; ++i) weights.heads.push_back(i);
  return weights;
}

std::vector<float> affinities(const FactorWeights& a, const FactorWeights& b) {
  const auto engine = cpu_affinity_engine();
  const auto source = engine->prepare(a);
  const auto target = engine->unpack(engine->pack(*engine->prepare(b)));
  std::vector<float> out(kHeads * kHeads);
  const LayerBlock block{source.get(), target.get(), out.data(), kHeads};
  engine->compute(std::span(&block, 1));
  engine->wait();
  return out;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5) << i;
}

TEST(JointSpan, HasTheRankOfTheLatent) {
  FactorWeights heads = latent_heads(1);
  heads.joint_rank = kRank;
  const auto inside = in_joint_span(heads);
  ASSERT_TRUE(inside.has_value());
  EXPECT_GE(inside->span.rank, kRank);
  EXPECT_LE(inside->span.rank, kRank + kRank / 8);
  EXPECT_EQ(inside->weights.outer.d_model(), inside->span.rank);
}

TEST(JointSpan, GivesTheSameAffinitiesAsTheWholeSpace) {
  const FactorWeights a = latent_heads(1);
  const FactorWeights b = latent_heads(7, 32);
  const std::vector<float> expected = affinities(a, b);
  for (const std::size_t a_rank : {std::size_t{0}, kRank}) {
    for (const std::size_t b_rank : {0U, 32U}) {
      FactorWeights source = latent_heads(1);
      FactorWeights target = latent_heads(7, 32);
      source.joint_rank = a_rank;
      target.joint_rank = b_rank;
      expect_near(affinities(source, target), expected);
    }
  }
}

TEST(JointSpan, IsNotUsedIfAHeadIsOutside) {
  FactorWeights heads = latent_heads(1);
  const std::vector<float> others = test::normals(kWidth * kD, 5);
  std::ranges::copy(others, heads.outer.column(3, 0).data());
  const std::vector<float> expected = affinities(heads, latent_heads(7));
  heads.joint_rank = kRank;
  EXPECT_FALSE(in_joint_span(heads).has_value());
  EXPECT_EQ(affinities(heads, latent_heads(7)), expected);
}

TEST(JointSpan, MayContainHeadsThatAreZero) {
  const auto zeroed = [] {
    FactorWeights heads = latent_heads(1);
    for (std::size_t j = 0; j < kWidth; ++j) std::ranges::fill(heads.outer.column(2, j), 0.0F);
    return heads;
  };
  const std::vector<float> expected = affinities(zeroed(), latent_heads(7));
  FactorWeights heads = zeroed();
  heads.joint_rank = kRank;
  ASSERT_TRUE(in_joint_span(heads).has_value());
  expect_near(affinities(heads, latent_heads(7)), expected);
}

TEST(JointSpan, AddsTheSameProjectors) {
  FactorWeights heads = latent_heads(1);
  const LayerFactors whole = prepare_factors(heads);
  CovarianceSum expected(kD);
  add_projectors(expected, {}, whole.values.values());
  heads.joint_rank = kRank;
  const auto inside = in_joint_span(heads);
  ASSERT_TRUE(inside.has_value());
  const LayerFactors factors = prepare_factors(inside->weights);
  CovarianceSum sum(kD);
  add_projectors(sum, inside->span, factors.values.values());
  EXPECT_NEAR(sum.trace(), kHeads * kWidth, 1e-3);
  // |A - B|^2 = <A, A> - 2 <A, B> + <B, B>
  EXPECT_NEAR(sum.inner(sum) - 2 * sum.inner(expected) + expected.inner(expected), 0, 1e-3);
}

}  // namespace
}  // namespace headscope
