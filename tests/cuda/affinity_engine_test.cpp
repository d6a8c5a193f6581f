#include "headscope/relate/affinity_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cuda/device_test.h"
#include "headscope/base/matrix.h"
#include "headscope/linalg/gram.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/rotary_average.h"
#include "support/expect_error.h"
#include "support/random.h"

namespace headscope {
namespace {

struct Shape {
  std::size_t heads;
  std::size_t d;
  std::size_t h;
};

FactorWeights factor_weights(const Shape& shape, const std::vector<float>& values, Metric metric = Metric::kPk) {
  const auto copy = [&] {
    Buffer<float> buffer(values.size());
    std::copy(values.begin(), values.end(), buffer.data());
    return buffer;
  };
  FactorWeights weights;
  weights.metric = metric;
  weights.outer = HeadWeights(Role::kQ, shape.d, shape.h, copy());
  weights.heads.resize(shape.heads);
  std::iota(weights.heads.begin(), weights.heads.end(), std::size_t{0});
  weights.rank_tolerance = static_cast<double>(shape.d) * 0x1p-23;
  return weights;
}

FactorWeights random_weights(const Shape& shape, std::uint64_t seed, Metric metric = Metric::kPk) {
  return factor_weights(shape, test::normals(shape.heads * shape.d * shape.h, seed), metric);
}

std::span<const float> head_of(const HeadWeights& weights, std::size_t head) {
  const std::size_t size = weights.d_model() * weights.d_head();
  return weights.values().subspan(head * size, size);
}

// Computes in double what `prepare` returns, from the definitions of the metrics.
struct Factors {
  std::vector<std::vector<double>> values;
  std::vector<std::size_t> ranks;
};

Factors reference_factors(const FactorWeights& weights) {
  const std::size_t d = weights.outer.d_model();
  const std::size_t h = weights.outer.d_head();
  Factors result;
  for (const std::size_t head : weights.heads) {
    std::vector<double>& factor = result.values.emplace_back(d * h);
    result.ranks.push_back(h);
    const std::span<const float> columns = head_of(weights.outer, head);
    if (weights.metric == Metric::kPk) {
      result.ranks.back() = orthonormal_basis(columns, d, h, weights.rank_tolerance, std::span<double>(factor),
                                              weights.outer.noise(head));
      continue;
    }
    std::vector<float> product(columns.begin(), columns.end());
    if (info(weights.metric).products()) {
      multiply_by_rotary_root(columns, head_of(weights.inner, head / weights.queries_per_kv), d, h, weights.rotary,
                              product);
    }
    const GramMoments moments = gram_moments(product, d, h);
    const double divisor =
        weights.metric == Metric::kCka ? std::pow(moments.trace_of_square, 0.25) : std::sqrt(moments.trace);
    for (std::size_t i = 0; i < d * h; ++i) factor[i] = product[i] / (divisor == 0 ? 1 : divisor);
  }
  return result;
}

DoubleMatrix reference_norms(const Factors& f, const Factors& g, std::size_t d) {
  DoubleMatrix norms(f.values.size(), g.values.size());
  for (std::size_t i = 0; i < norms.rows(); ++i) {
    for (std::size_t j = 0; j < norms.columns(); ++j) {
      for (std::size_t a = 0; a < f.values[i].size(); a += d) {
        for (std::size_t b = 0; b < g.values[j].size(); b += d) {
          double product = 0;
          for (std::size_t k = 0; k < d; ++k) product += f.values[i][a + k] * g.values[j][b + k];
          norms(i, j) += product * product;
        }
      }
    }
  }
  return norms;
}

Matrix norms_of(const AffinityEngine& engine, const PreparedLayer& source, const PreparedLayer& target) {
  Matrix out(source.ranks.size(), target.ranks.size());
  std::ranges::fill(out.values(), std::numeric_limits<float>::quiet_NaN());
  const LayerBlock block{&source, &target, out.values().data(), out.columns()};
  engine.compute(std::span(&block, 1));
  engine.wait();
  return out;
}

std::vector<float> bits(const Matrix& matrix) {
  return {matrix.values().begin(), matrix.values().end()};
}

std::string name_of(Precision precision) {
  constexpr const char* kNames[] = {"float32", "tf32", "fp16", "bf16"};
  return kNames[static_cast<std::size_t>(precision)];
}

double tolerance(Precision precision) {
  return precision == Precision::kFloat32 ? 1e-5 : precision == Precision::kBf16 ? 1e-2 : 1e-3;
}

// Errors are relative to the value or to the expected overlap of random factors of the same size, whichever is larger.
void expect_norms(const Matrix& found, const DoubleMatrix& expected, double chance, double bound) {
  for (std::size_t i = 0; i < expected.rows(); ++i) {
    for (std::size_t j = 0; j < expected.columns(); ++j) {
      const double scale = std::max(chance, expected(i, j));
      ASSERT_NEAR(found(i, j), expected(i, j), bound * scale) << i << ", " << j;
    }
  }
}

class CudaAffinity : public test::OnDevice<testing::TestWithParam<Precision>> {
 protected:
  [[nodiscard]] static std::unique_ptr<AffinityEngine> engine() { return cuda_affinity_engine(0, GetParam()); }

  static void expect_reference(const FactorWeights& source, const FactorWeights& target) {
    const auto on = engine();
    const auto f = on->prepare(source);
    const auto g = on->prepare(target);
    const Factors expected_f = reference_factors(source);
    const Factors expected_g = reference_factors(target);
    EXPECT_EQ(f->ranks, expected_f.ranks);
    EXPECT_EQ(g->ranks, expected_g.ranks);
    const auto d = static_cast<double>(source.outer.d_model());
    const auto h = static_cast<double>(source.outer.d_head());
    expect_norms(norms_of(*on, *f, *g), reference_norms(expected_f, expected_g, source.outer.d_model()),
                 source.metric == Metric::kPk ? h * h / d : 0, tolerance(GetParam()));
  }
};

TEST_P(CudaAffinity, IsTheProjectionKernel) {
  const std::vector<std::pair<Shape, std::size_t>> shapes = {{{1, 8, 1}, 1},    {{3, 64, 16}, 2},   {{5, 200, 24}, 4},
                                                             {{2, 96, 33}, 3},  {{4, 40, 40}, 4},   {{3, 20, 32}, 2},
                                                             {{9, 256, 64}, 5}, {{2, 300, 128}, 3}, {{2, 400, 180}, 1}};
  for (const auto& [shape, targets] : shapes) {
    SCOPED_TRACE(shape.d * 1000 + shape.h);
    expect_reference(random_weights(shape, 1), random_weights({targets, shape.d, shape.h}, 2));
  }
}

TEST_P(CudaAffinity, TakesRankDeficientAndZeroHeads) {
  const Shape shape{6, 120, 32};
  std::vector<float> values = test::normals(shape.heads * shape.d * shape.h, 3);
  const auto column = [&](std::size_t head, std::size_t j) { return values.begin() + (head * shape.h + j) * shape.d; };
  std::fill(column(0, 0), column(1, 0), 0.0F);                                            // zero
  for (std::size_t j = 8; j < 32; ++j) std::copy_n(column(1, j % 8), 120, column(1, j));  // rank 8
  std::fill(column(2, 5), column(2, 6), 0.0F);                                            // a zero column
  for (std::size_t j = 0; j < 32; ++j) {  // condition 1e3 and 1e5, full rank
    for (std::size_t k = 0; k < 120; ++k) {
      column(3, j)[static_cast<std::ptrdiff_t>(k)] *= std::pow(10.0F, -3.0F * static_cast<float>(j) / 31);
      column(4, j)[static_cast<std::ptrdiff_t>(k)] *= std::pow(10.0F, -4.5F * static_cast<float>(j) / 31);
    }
  }
  FactorWeights source = factor_weights(shape, values);
  FactorWeights target = random_weights(shape, 4);
  expect_reference(source, target);
  const auto layer = engine()->prepare(source);
  EXPECT_EQ(layer->ranks, (std::vector<std::size_t>{0, 8, 31, 32, 32, 32}));
  EXPECT_EQ(layer->moments[1].trace, 8);
  // Small singular values do not count.
  source.rank_tolerance = 1e-2;
  expect_reference(source, target);
  // As for a checkpoint in BF16: each head has its own noise.
  source.rank_tolerance = 0;
  source.outer = HeadWeights(Role::kQ, shape.d, shape.h, std::move(source.outer).release(), {1, 1, 0, 1, 0.01, 7});
  expect_reference(source, target);
}

TEST_P(CudaAffinity, HearsOfHeadsThatMayNotHaveFullRank) {
  std::vector<std::string> lines;
  const auto on = cuda_affinity_engine(0, GetParam(), [&](const std::string& line) { lines.push_back(line); });
  static_cast<void>(on->prepare(random_weights({3, 64, 8}, 1)));
  EXPECT_EQ(lines.size(), 0u);
  std::vector<float> values = test::normals(3 * 64 * 8, 1);
  std::fill(values.begin(), values.begin() + 64, 0.0F);
  static_cast<void>(on->prepare(factor_weights({3, 64, 8}, values)));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "cuda: 1 of 3 Q heads may be rank-deficient: orthonormalized by eigenvectors instead of Cholesky QR");
}

TEST_P(CudaAffinity, HasTheOtherMetricsOfProducts) {
  for (const Metric metric : {Metric::kCka, Metric::kSimpleCs, Metric::kCs, Metric::kRopeCs}) {
    SCOPED_TRACE(info(metric).name);
    FactorWeights source = random_weights({4, 90, 16}, 5, metric);
    FactorWeights target = random_weights({4, 90, 16}, 6, metric);
    if (metric == Metric::kRopeCs) target.rotary = {.width = 12};
    if (info(metric).products()) {
      for (FactorWeights* weights : {&source, &target}) {
        weights->inner = HeadWeights(Role::kK, 90, 16, std::move(random_weights({2, 90, 16}, 7).outer).release());
        weights->queries_per_kv = 2;
      }
    }
    expect_reference(source, target);
    const auto layer = engine()->prepare(source);
    EXPECT_NEAR(metric == Metric::kCka ? layer->moments[2].trace_of_square : layer->moments[2].trace, 1, 1e-12);
    EXPECT_EQ(layer->ranks[0], 16u);
  }
}

// One of two inner heads has a column of zeros: the two query heads that read through it have no Cholesky factor.
TEST_P(CudaAffinity, LeavesSingularInnerFactorsToTheProcessors) {
  std::vector<float> inner = test::normals(2 * 90 * 16, 7);
  std::fill(inner.begin() + 90 * 16, inner.begin() + 90 * 17, 0.0F);
  FactorWeights weights = random_weights({4, 90, 16}, 5, Metric::kCs);
  weights.inner = HeadWeights(Role::kK, 90, 16, std::move(factor_weights({2, 90, 16}, inner).outer).release());
  weights.queries_per_kv = 2;
  expect_reference(weights, weights);
  std::vector<std::string> lines;
  const auto on = cuda_affinity_engine(0, GetParam(), [&](const std::string& line) { lines.push_back(line); });
  static_cast<void>(on->prepare(weights));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "cuda: 2 of 4 K heads may be rank-deficient: multiplied on the CPU");
}

TEST_P(CudaAffinity, PreparesTheHeadsThatAreAskedFor) {
  FactorWeights some = random_weights({8, 64, 16}, 8);
  some.heads = {6, 1, 3};
  expect_reference(some, random_weights({2, 64, 16}, 9));
}

// More heads than fit a tile, on both sides.
TEST_P(CudaAffinity, JoinsItsTiles) {
  const FactorWeights source = random_weights({70, 96, 64}, 10);
  const FactorWeights target = random_weights({67, 96, 64}, 11);
  expect_reference(source, target);
}

TEST_P(CudaAffinity, OfALayerWithItselfIsSymmetricAndThatOfTwo) {
  const auto on = engine();
  for (const Shape& shape : {Shape{70, 80, 64}, Shape{5, 80, 16}}) {
    const auto layer = on->prepare(random_weights(shape, 12));
    const auto twin = on->prepare(random_weights(shape, 12));
    const Matrix half = norms_of(*on, *layer, *layer);
    const Matrix full = norms_of(*on, *layer, *twin);
    for (std::size_t i = 0; i < shape.heads; ++i) {
      for (std::size_t j = 0; j < shape.heads; ++j) {
        ASSERT_EQ(half(i, j), half(j, i));
        ASSERT_NEAR(half(i, j), full(i, j), 1e-5 * full(i, j));
      }
      const auto rank = static_cast<double>(shape.h);
      ASSERT_NEAR(half(i, i), rank, tolerance(GetParam()) * rank);
    }
  }
}

// Layers so large that TF32 multiplies by halves. Compared with float32, which does not and which is compared with the
// definition above. One head of the third layer is rank-deficient, so halves must not be used for it.
TEST_P(CudaAffinity, OfLargeLayersIsThatOfFloat32) {
  const Shape shape{32, 4096, 128};
  const auto on = engine();
  const auto exact = cuda_affinity_engine(0, Precision::kFloat32);
  std::vector<float> values = test::normals(shape.heads * shape.d * shape.h, 23);
  std::copy_n(values.begin(), shape.d, values.begin() + static_cast<std::ptrdiff_t>(shape.d));
  const FactorWeights weights[] = {random_weights(shape, 21), random_weights(shape, 22), factor_weights(shape, values)};
  std::vector<std::unique_ptr<PreparedLayer>> found;
  std::vector<std::unique_ptr<PreparedLayer>> expected;
  for (const FactorWeights& layer : weights) {
    found.push_back(on->prepare(layer));
    expected.push_back(exact->prepare(layer));
  }
  EXPECT_EQ(found[2]->ranks[0], 127u);
  const auto copy = on->unpack(on->pack(*found[0]));
  constexpr double kChance = 128.0 * 128 / 4096;
  for (const std::size_t target : {0u, 1u, 2u}) {
    const Matrix norms = norms_of(*on, *copy, *found[target]);
    const Matrix reference = norms_of(*exact, *expected[0], *expected[target]);
    double bias = 0;
    for (std::size_t i = 0; i < norms.values().size(); ++i) {
      const double value = reference.values()[i];
      ASSERT_NEAR(norms.values()[i], value, tolerance(GetParam()) * std::max(kChance, value)) << target << ' ' << i;
      bias += (norms.values()[i] - value) / value / static_cast<double>(norms.values().size());
    }
    EXPECT_LT(std::abs(bias), 0.2 * tolerance(GetParam())) << target;
    if (target == 0) continue;  // of a layer with itself only half is computed
    EXPECT_EQ(bits(norms_of(*on, *found[0], *found[target])), bits(norms)) << target;
  }
}

TEST_P(CudaAffinity, GivesTheSameBitsWhateverElseIsComputed) {
  const auto on = engine();
  std::vector<std::unique_ptr<PreparedLayer>> layers;
  for (std::uint64_t seed = 0; seed < 4; ++seed) layers.push_back(on->prepare(random_weights({40, 128, 64}, seed)));
  const std::vector<float> alone = bits(norms_of(*on, *layers[1], *layers[2]));
  std::vector<Matrix> out(16, Matrix(40, 40));
  std::vector<LayerBlock> blocks;
  for (std::size_t i = 0; i < 16; ++i) {
    blocks.push_back({layers[i / 4].get(), layers[i % 4].get(), out[i].values().data(), 40});
  }
  for (int round = 0; round < 3; ++round) {
    on->compute(std::span(blocks).first(7));
    on->compute(std::span(blocks).subspan(7));
    const auto other = on->prepare(random_weights({9, 128, 64}, 77));  // while the products are running
    on->wait();
    EXPECT_EQ(bits(out[6]), alone);
    for (Matrix& matrix : out) std::ranges::fill(matrix.values(), 0.0F);
  }
  const auto second = engine();
  const auto f = second->prepare(random_weights({40, 128, 64}, 1));
  const auto g = second->prepare(random_weights({40, 128, 64}, 2));
  EXPECT_EQ(bits(norms_of(*second, *f, *g)), alone);
}

TEST_P(CudaAffinity, WritesWhereItIsTold) {
  const auto on = engine();
  const auto f = on->prepare(random_weights({3, 64, 16}, 1));
  const auto g = on->prepare(random_weights({2, 64, 16}, 2));
  const Matrix plain = norms_of(*on, *f, *g);
  std::vector<float> wide(3 * 10, -1.0F);
  const LayerBlock block{f.get(), g.get(), wide.data() + 4, 10};
  on->compute(std::span(&block, 1));
  on->wait();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 10; ++j) {
      EXPECT_EQ(wide[i * 10 + j], j == 4 || j == 5 ? plain(i, j - 4) : -1.0F);
    }
  }
}

TEST_P(CudaAffinity, PacksAndUnpacksLayers) {
  const auto on = engine();
  const auto f = on->prepare(random_weights({5, 100, 32}, 1));
  const auto g = on->prepare(random_weights({5, 100, 32}, 2));
  const std::vector<std::byte> bytes = on->pack(*f);
  EXPECT_GE(bytes.size(), on->layer_bytes(5, 100, 32));
  const auto other = engine();
  const auto copy = other->unpack(bytes);
  EXPECT_EQ(copy->ranks, f->ranks);
  EXPECT_EQ(copy->moments[4].trace, f->moments[4].trace);
  EXPECT_EQ(bits(norms_of(*other, *copy, *other->unpack(on->pack(*g)))), bits(norms_of(*on, *f, *g)));
  EXPECT_ERROR(other->unpack(std::span(bytes).first(bytes.size() - 1)), ErrorKind::kBackend, "packed layer");
}

TEST_P(CudaAffinity, ReusesTheMemoryOfLayersThatAreGone) {
  const auto on = engine();
  const std::size_t all = on->capacity(1);
  EXPECT_GT(all, std::size_t{1} << 30);
  const FactorWeights weights = random_weights({8, 128, 64}, 1);
  for (int i = 0; i < 50; ++i) static_cast<void>(on->prepare(weights));
  const std::size_t later = on->capacity(1);
  EXPECT_NEAR(static_cast<double>(later), static_cast<double>(all), 0.02 * static_cast<double>(all));
}

TEST_P(CudaAffinity, TakesItsShareOfTheMemory) {
  const auto alone = static_cast<double>(engine()->capacity(1));
  for (const std::size_t sharers : {2u, 3u}) {
    const auto share = static_cast<double>(cuda_affinity_engine(0, GetParam(), {}, sharers)->capacity(1));
    EXPECT_LT(share, alone / static_cast<double>(sharers));
    EXPECT_GT(share, 0.8 * alone / static_cast<double>(sharers) - 0x1p31);
  }
}

TEST_P(CudaAffinity, RefusesWhatIsNotANumber) {
  std::vector<float> values = test::normals(3 * 64 * 8, 1);
  values[700] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(engine()->prepare(factor_weights({3, 64, 8}, values)), ErrorKind::kNumeric, "a NaN");
}

TEST_P(CudaAffinity, IsNamedAfterItsPrecision) {
  const std::string expected = "cuda " + name_of(GetParam()) + ", ";
  EXPECT_EQ(engine()->name().substr(0, expected.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaAffinity,
                         testing::Values(Precision::kFloat32, Precision::kTf32, Precision::kFp16, Precision::kBf16),
                         [](const auto& param_info) { return name_of(param_info.param); });

}  // namespace
}  // namespace headscope
