#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/relate/affinity_engine.h"
#include "support/expect_error.h"
#include "support/random.h"

namespace headscope {
namespace {

constexpr std::size_t kD = 96;
constexpr std::size_t kWidth = 40;  // so that a layer is cut into several tiles

FactorWeights weights(Metric metric, std::size_t heads, std::uint64_t seed) {
  const auto matrix = [&](Role role, std::uint64_t own_seed) {
    const std::vector<float> values = test::normals(heads * kWidth * kD, own_seed);
    Buffer<float> buffer(values.size());
    std::ranges::copy(values, buffer.data());
    return HeadWeights(role, kD, kWidth, std::move(buffer));
  };
  FactorWeights result;
  result.metric = metric;
  result.outer = matrix(Role::kO, seed);
  if (metric == Metric::kCs) result.inner = matrix(Role::kO, seed + 100);
  for (std::size_t i = 0; i < heads; ++i) result.heads.push_back(i);
  return result;
}

std::vector<float> block(const AffinityEngine& engine, const PreparedLayer& a, const PreparedLayer& b) {
  std::vector<float> out(a.ranks.size() * b.ranks.size());
  const LayerBlock one{&a, &b, out.data(), b.ranks.size()};
  engine.compute(std::span(&one, 1));
  engine.wait();
  return out;
}

TEST(CpuAffinityEngine, ABlockHasTheSameBitsWhateverIsComputedBesideIt) {
  const auto engine = cpu_affinity_engine();
  const auto a = engine->prepare(weights(Metric::kPk, 20, 1));
  const auto b = engine->prepare(weights(Metric::kPk, 13, 2));
  const auto c = engine->prepare(weights(Metric::kPk, 7, 3));
  const std::vector<float> alone = block(*engine, *a, *b);
  std::vector<float> out(27 * 20, -1);
  const std::vector<LayerBlock> blocks = {{a.get(), b.get(), out.data() + 3, 20},
                                          {c.get(), b.get(), out.data() + 20 * 20 + 3, 20}};
  for (const std::size_t threads : {1U, 3U}) {
    set_thread_count(threads);
    engine->compute(blocks);
    engine->wait();
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(std::equal(alone.begin() + static_cast<std::ptrdiff_t>(i * 13),
                             alone.begin() + static_cast<std::ptrdiff_t>(i * 13 + 13),
                             out.begin() + static_cast<std::ptrdiff_t>(i * 20 + 3)));
      EXPECT_EQ(out[i * 20 + 2], -1);
    }
  }
  set_thread_count(0);
}

TEST(CpuAffinityEngine, ALayerWithItselfIsExactlySymmetric) {
  const auto engine = cpu_affinity_engine();
  const auto a = engine->prepare(weights(Metric::kPk, 20, 1));
  const std::vector<float> out = block(*engine, *a, *a);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(out[i * 20 + i], kWidth, 1e-3);
    for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(out[i * 20 + j], out[j * 20 + i]);
  }
}

TEST(CpuAffinityEngine, ALayerThatTraveledGivesTheSameBits) {
  const auto engine = cpu_affinity_engine();
  for (const Metric metric : {Metric::kPk, Metric::kCka, Metric::kCs, Metric::kSimpleCs, Metric::kCoupling}) {
    const auto a = engine->prepare(weights(metric, 9, 1));
    const auto b = engine->prepare(weights(metric, 5, 2));
    const auto traveled = engine->unpack(engine->pack(*b));
    EXPECT_EQ(block(*engine, *a, *b), block(*engine, *a, *traveled));
    EXPECT_EQ(traveled->ranks, b->ranks);
    ASSERT_EQ(traveled->moments.size(), b->moments.size());
    for (std::size_t i = 0; i < b->moments.size(); ++i) {
      EXPECT_EQ(traveled->moments[i].trace, b->moments[i].trace);
      EXPECT_EQ(traveled->moments[i].trace_of_square, b->moments[i].trace_of_square);
    }
  }
}

TEST(CpuAffinityEngine, RefusesBytesThatAreNoLayer) {
  const auto engine = cpu_affinity_engine();
  std::vector<std::byte> bytes = engine->pack(*engine->prepare(weights(Metric::kPk, 2, 1)));
  bytes.pop_back();
  EXPECT_ERROR((void)engine->unpack(bytes), ErrorKind::kBackend,
               "a prepared layer of 2 heads of 96 x 40 does not match its");
  EXPECT_ERROR((void)engine->unpack(std::span(bytes).first(5)), ErrorKind::kFormat, "truncated");
}

}  // namespace
}  // namespace headscope
