#include "headscope/linalg/anisotropic_normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headscope/linalg/orthonormal_basis.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

constexpr std::size_t kD = 24;
constexpr std::size_t kRank = 4;

// Orthonormal bases of `count` random spaces with variances 1 / (i + 1), without the last coordinate.
std::vector<float> spaces(std::size_t count) {
  std::vector<float> bases(count * kD * kRank);
  for (std::size_t k = 0; k < count; ++k) {
    Random random(7, {k});
    std::vector<float> columns(kD * kRank);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t coordinate = i % kD;
      const double scale = coordinate + 1 == kD ? 0 : 1 / std::sqrt(static_cast<double>(coordinate + 1));
      columns[i] = static_cast<float>(scale * random.normal());
    }
    EXPECT_EQ(
        orthonormal_basis(columns, kD, kRank, 0, std::span<float>(bases).subspan(k * columns.size(), columns.size())),
        kRank);
  }
  return bases;
}

CovarianceSum sum_of(const std::vector<float>& bases) {
  CovarianceSum sum(kD);
  sum.add(bases, bases.size() / kD);
  return sum;
}

TEST(AnisotropicNormal, SpansSpacesWithAboutTheGivenMeanProjector) {
  constexpr std::size_t kCount = 3000;
  const std::vector<float> given = spaces(kCount);
  const CovarianceSum sum = sum_of(given);
  EXPECT_NEAR(sum.trace(), kCount * kRank, 1e-2);
  const AnisotropicNormal normal(sum, kCount);
  std::vector<float> drawn(given.size());
  for (std::size_t k = 0; k < kCount; ++k) {
    Random random(8, {k});
    std::vector<float> columns(kD * kRank);
    normal.sample(random, columns, kRank);
    ASSERT_EQ(
        orthonormal_basis(columns, kD, kRank, 0, std::span<float>(drawn).subspan(k * columns.size(), columns.size())),
        kRank);
  }
  const auto diagonal = [](const std::vector<float>& bases, std::size_t i) {
    double total = 0;
    for (std::size_t k = i; k < bases.size(); k += kD)
      total += static_cast<double>(bases[k]) * static_cast<double>(bases[k]);
    return total / kCount;
  };
  for (std::size_t i = 0; i + 1 < kD; ++i) {
    EXPECT_NEAR(diagonal(drawn, i) / diagonal(given, i), 1, 0.15) << i;
  }
  EXPECT_LT(diagonal(drawn, kD - 1), 1e-4);  // the direction that no space contains
}

TEST(AnisotropicNormal, CopesWithADirectionThatAllSpacesShare) {
  const std::vector<float> one = spaces(1);
  const AnisotropicNormal normal(sum_of(one), 1);
  Random random(1);
  std::vector<float> columns(kD * kRank);
  normal.sample(random, columns, kRank);
  for (const float value : columns) EXPECT_TRUE(std::isfinite(value));
}

TEST(AnisotropicNormal, RefusesWhatIsNoMeanOfProjectors) {
  EXPECT_ERROR(AnisotropicNormal(sum_of(spaces(4)), 1), ErrorKind::kNumeric, "eigenvalues between 0 and 1");
}

TEST(CovarianceSum, InnerIsTheTraceOfTheProduct) {
  const std::vector<float> a = spaces(3);
  const CovarianceSum sum = sum_of(a);
  double expected = 0;  // sum of squared dot products
  for (std::size_t i = 0; i < a.size(); i += kD) {
    for (std::size_t j = 0; j < a.size(); j += kD) {
      double dot = 0;
      for (std::size_t k = 0; k < kD; ++k) dot += static_cast<double>(a[i + k]) * static_cast<double>(a[j + k]);
      expected += dot * dot;
    }
  }
  EXPECT_NEAR(sum.inner(sum), expected, 1e-4);
}

}  // namespace
}  // namespace headscope
