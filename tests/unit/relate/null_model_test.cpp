#include "headscope/relate/null_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/informativeness.h"
#include "headscope/relate/null_judge.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/affinities";

// Mean and deviation of ||U^T V||_F^2 over random subspaces, or random Gaussian factors if `factor` is given.
NullMoments monte_carlo(std::size_t d, std::size_t p, std::size_t q, std::size_t draws) {
  std::vector<double> values;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    Random random(5, {d, p, q, draw});
    std::vector<float> u(d * p);
    std::vector<float> v(d * q);
    std::vector<float> u_basis(d * p);
    std::vector<float> v_basis(d * q);
    random.fill_normal(u);
    random.fill_normal(v);
    EXPECT_EQ(orthonormal_basis(u, d, p, 0, std::span<float>(u_basis)), p);
    EXPECT_EQ(orthonormal_basis(v, d, q, 0, std::span<float>(v_basis)), q);
    double sum = 0;
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t j = 0; j < q; ++j) {
        double dot = 0;
        for (std::size_t k = 0; k < d; ++k)
          dot += static_cast<double>(u_basis[i * d + k]) * static_cast<double>(v_basis[j * d + k]);
        sum += dot * dot;
      }
    }
    values.push_back(sum);
  }
  NullMoments moments;
  for (const double value : values) moments.mean += value / static_cast<double>(draws);
  double squares = 0;
  for (const double value : values) squares += std::pow(value - moments.mean, 2);
  moments.deviation = std::sqrt(squares / static_cast<double>(draws - 1));
  return moments;
}

TEST(IsotropicNull, IsThePapersForGpt2Small) {
  const NullMoments found = isotropic_moments(projector_moments(64), projector_moments(64), 768);
  EXPECT_NEAR(found.mean, 5.3333, 1e-4);
  EXPECT_NEAR(found.deviation, 0.10796, 1e-5);
}

TEST(IsotropicNull, EqualsMonteCarloWithinItsErrorUnequalRanksIncluded) {
  for (const auto& [p, q] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 4}, {2, 7}, {1, 1}, {10, 3}}) {
    const std::size_t draws = 4000;
    const NullMoments expected = monte_carlo(24, p, q, draws);
    const NullMoments found = isotropic_moments(projector_moments(p), projector_moments(q), 24);
    const double root = std::sqrt(static_cast<double>(draws));
    EXPECT_NEAR(found.mean, expected.mean, 4 * found.deviation / root) << p << "," << q;
    // The deviation of a deviation is at most about sqrt((kurtosis - 1) / 4 n); skewed for small ranks.
    EXPECT_NEAR(found.deviation, expected.deviation, 8 * found.deviation / root) << p << "," << q;
  }
}

TEST(IsotropicNull, HasTheSkewnessOfTheBetaLawForOneDirection) {
  // The square of a coordinate of a random unit vector in q of n dimensions is Beta(q/2, (n - q)/2).
  for (const std::size_t q : {1U, 3U, 9U}) {
    const double a = static_cast<double>(q) / 2;
    const double b = (24 - static_cast<double>(q)) / 2;
    const double expected = 2 * (b - a) * std::sqrt(a + b + 1) / ((a + b + 2) * std::sqrt(a * b));
    EXPECT_NEAR(isotropic_moments(projector_moments(1), projector_moments(q), 24).skewness, expected, 1e-12);
  }
}

TEST(ShownP, IsNeverBelowItsLimit) {
  EXPECT_DOUBLE_EQ(shown_p(-2), 0.01);
  EXPECT_EQ(shown_p(-300), 1e-12);
  EXPECT_EQ(shown_p(-INFINITY), 1e-12);
}

TEST(UpperTail, IsTheNormalDistributions) {
  EXPECT_DOUBLE_EQ(upper_tail(0), 0.5);
  EXPECT_NEAR(upper_tail(1.959963984540054), 0.025, 1e-15);
  EXPECT_NEAR(upper_tail(30) / 4.906713927148187e-198, 1, 1e-9);
}

class NullModelTest : public testing::Test {
 protected:
  const Model model_ = Model::open(kFolder / "plain");
  const std::vector<RolePair> pairs_ = {{Role::kO, Role::kQ}, {Role::kQ, Role::kQ}};
  const HeadSizes& sizes_ = model_.info().sizes;
};

TEST_F(NullModelTest, GivesEveryEarlierToLaterPairAZAndNoOther) {
  const auto affinities = compute_affinities(model_, Metric::kPk, pairs_).value();
  const Significance found = significance(affinities[0], NullModel::kIsotropic, sizes_.d_model);
  const NullMoments moments = isotropic_moments(projector_moments(6), projector_moments(6), 40);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      const bool later = i < 3 && j >= 3;
      EXPECT_EQ(std::isnan(found.z(i, j)), !later);
      EXPECT_EQ(std::isnan(found.log10_p(i, j)), !later);
      EXPECT_EQ(std::isnan(found.log10_q(i, j)), !later);
      if (later) {
        EXPECT_NEAR(found.z(i, j), (static_cast<double>(affinities[0].values(i, j)) - moments.mean) / moments.deviation,
                    1e-5);
      }
    }
  }
}

TEST_F(NullModelTest, ComputesBenjaminiHochbergQ) {
  const auto affinities = compute_affinities(model_, Metric::kPk, pairs_).value();
  const Significance found = significance(affinities[0], NullModel::kIsotropic, sizes_.d_model);
  std::vector<std::pair<double, double>> p_and_q;
  for (std::size_t i = 0; i < found.z.values().size(); ++i) {
    if (!std::isnan(found.z.values()[i])) {
      p_and_q.emplace_back(std::pow(10.0, found.log10_p.values()[i]), std::pow(10.0, found.log10_q.values()[i]));
    }
  }
  ASSERT_EQ(p_and_q.size(), 9u);
  for (const auto& [p, q] : p_and_q) {
    // q = min over thresholds t >= p of t * m / #{p_i <= t}.
    double expected = 1;
    for (const auto& [t, ignored] : p_and_q) {
      if (t < p) continue;
      double below = 0;
      for (const auto& [other, ignored_too] : p_and_q) below += other <= t ? 1 : 0;
      expected = std::min(expected, t * 9 / below);
    }
    EXPECT_NEAR(q, expected, 1e-6);
  }
}

TEST_F(NullModelTest, SpanUsesMedianAndDeviationOfTheSameDistance) {
  const auto affinities = compute_affinities(model_, Metric::kGrassmann, pairs_, {.earlier_only = true}).value();
  const Significance found = significance(affinities[0], NullModel::kSpan, sizes_.d_model);
  // One distance, nine pairs: the median has z 0, and a smaller distance a larger z.
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < 36; ++i) {
    for (std::size_t j = 0; j < 36; ++j) {
      const float x = affinities[0].values.values()[i];
      const float y = affinities[0].values.values()[j];
      if (!std::isnan(x) && !std::isnan(y) && x < y) {
        EXPECT_GT(found.z.values()[i], found.z.values()[j]);
      }
    }
    zeros += found.z.values()[i] == 0 ? 1 : 0;
  }
  EXPECT_EQ(zeros, 1u);
}

TEST_F(NullModelTest, MatchedDependsOnTheSeedAndNotOnThreads) {
  const AffinityOptions options;
  set_thread_count(1);
  const auto one = matched_laws(model_, Metric::kPk, pairs_, options, {.draws = 8, .seed = 3}).value();
  set_thread_count(3);
  const auto three = matched_laws(model_, Metric::kPk, pairs_, options, {.draws = 8, .seed = 3}).value();
  set_thread_count(0);
  const auto other = matched_laws(model_, Metric::kPk, pairs_, options, {.draws = 8, .seed = 4}).value();
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    EXPECT_EQ(one[p].moments.mean, three[p].moments.mean);
    EXPECT_EQ(one[p].moments.deviation, three[p].moments.deviation);
    EXPECT_EQ(one[p].moments.mean, other[p].moments.mean);  // exact, not drawn
    EXPECT_NE(one[p].moments.deviation, other[p].moments.deviation);
  }
}

TEST_F(NullModelTest, TheMatchedMeanOfPkIsTheMeanOverAllPairsOfDifferentHeads) {
  const auto affinities = compute_affinities(model_, Metric::kPk, pairs_).value();
  const auto matched = matched_laws(model_, Metric::kPk, pairs_, {}, {.draws = 4}).value();
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < affinities[p].values.rows(); ++i) {
      for (std::size_t j = 0; j < affinities[p].values.columns(); ++j) {
        if (pairs_[p].source == pairs_[p].target && i == j) continue;
        sum += static_cast<double>(affinities[p].values(i, j));
        ++count;
      }
    }
    EXPECT_NEAR(matched[p].moments.mean, sum / count, 1e-5 * sum / count);
    EXPECT_EQ(matched[p].source.full_rank, 6U);
    EXPECT_EQ(matched[p].target.mean_rank, 6);
  }
}

TEST_F(NullModelTest, StatesTheLawWithWhichAPairIsCompared) {
  const auto pk = compute_affinities(model_, Metric::kPk, pairs_).value().front();
  const PairScore isotropic = null_judge(pk, NullModel::kIsotropic, sizes_.d_model, {})(0, pk.values.columns() - 1);
  const NullMoments moments = isotropic_moments(pk.source.moments.front(), pk.target.moments.back(), sizes_.d_model);
  EXPECT_EQ(to_string(isotropic.null.law), "beta");
  EXPECT_DOUBLE_EQ(isotropic.null.mean, moments.mean);
  EXPECT_DOUBLE_EQ(isotropic.null.deviation, moments.deviation);
  EXPECT_EQ(to_string(null_judge(pk, NullModel::kSpan, sizes_.d_model, {})(0, pk.values.columns() - 1).null.law),
            "normal");

  // The law of a root is that of its square.
  const std::vector<RolePair> circuit = {{Role::kO, Role::kQ}};
  const auto cs = compute_affinities(model_, Metric::kCs, circuit).value().front();
  const PairScore root = null_judge(cs, NullModel::kIsotropic, sizes_.d_model, {})(0, cs.values.columns() - 1);
  const NullMoments squared = isotropic_moments(cs.source.moments.front(), cs.target.moments.back(), sizes_.d_model);
  EXPECT_EQ(to_string(root.null.law), "pearson3");
  EXPECT_DOUBLE_EQ(root.null.mean, std::sqrt(squared.mean));
  EXPECT_DOUBLE_EQ(root.null.deviation, squared.deviation / (2 * root.null.mean));
}

TEST_F(NullModelTest, IsDefinedWhereTheFormulaMakesSense) {
  EXPECT_TRUE(is_defined(NullModel::kIsotropic, Metric::kCs));
  EXPECT_FALSE(is_defined(NullModel::kIsotropic, Metric::kGrassmann));
  EXPECT_TRUE(is_defined(NullModel::kMatched, Metric::kGrassmann));
  EXPECT_FALSE(is_defined(NullModel::kMatched, Metric::kCka));
  EXPECT_TRUE(is_defined(NullModel::kSpan, Metric::kSimpleCs));
}

TEST(BinnedDivergence, IsNearZeroForObservationsDrawnFromTheNull) {
  Random random(1);
  std::vector<double> values;
  for (int i = 0; i < 200000; ++i) values.push_back(5 + 0.1 * random.normal());
  const BinnedDivergence found = binned_divergence({5, 0.1}, values, 0.05);
  EXPECT_LT(std::abs(found.value), 1e-3);
}

TEST(BinnedDivergence, EqualsTheSumWrittenOut) {
  // Random: bins [0,1) and [1,2) with half the mass each. Observed: 3 and 1.
  const std::vector<double> values = {0.1, 0.2, 0.3, 1.5};
  const BinnedDivergence found = binned_divergence({1, 0.1}, values, 1);
  EXPECT_FALSE(found.smoothed);
  EXPECT_NEAR(found.value, 0.5 * std::log(0.5 / 0.75) + 0.5 * std::log(0.5 / 0.25), 1e-9);
}

TEST(BinnedDivergence, AddsHalfACountWhereRandomMeetsAnEmptyBinAndSaysSo) {
  const std::vector<double> values = {0.1, 0.2, 0.3};
  const BinnedDivergence found = binned_divergence({1, 0.1}, values, 1);
  EXPECT_TRUE(found.smoothed);
  EXPECT_NEAR(found.value, 0.5 * std::log(0.5 / (3.5 / 4)) + 0.5 * std::log(0.5 / (0.5 / 4)), 1e-9);
}

TEST_F(NullModelTest, InformativenessOfRandomHeadsIsSmallAndClosedFormAgrees) {
  const auto affinities = compute_affinities(model_, Metric::kPk, pairs_).value();
  const Informativeness found = informativeness(affinities[0], sizes_.d_model, sizes_.d_head, sizes_.d_head);
  EXPECT_EQ(found.pairs, 9u);
  EXPECT_NEAR(found.random.mean, 0.9, 1e-12);
  EXPECT_GE(found.closed_form, 0);
  EXPECT_ERROR(informativeness(compute_affinities(model_, Metric::kCka, pairs_).value()[0], 40, 6, 6),
               ErrorKind::kInvalidArgument, "defined for metric 'pk'");
}

}  // namespace
}  // namespace headscope
