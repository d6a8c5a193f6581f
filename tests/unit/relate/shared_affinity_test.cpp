// The work of several ranks, and of several runs, has the bits of one.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "headscope/relate/affinity.h"
#include "headscope/relate/null_model.h"
#include "headscope/relate/relate.h"
#include "support/deep_llama.h"
#include "support/temporary_folder.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

// The processors, and how many blocks and layers they were given.
class CountingEngine final : public AffinityEngine {
 public:
  [[nodiscard]] std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const override {
    ++prepared;
    return engine_->prepare(weights);
  }
  void compute(std::span<const LayerBlock> some) const override {
    blocks += some.size();
    engine_->compute(some);
  }
  void wait() const override { engine_->wait(); }
  [[nodiscard]] std::size_t layer_bytes(std::size_t heads, std::size_t d, std::size_t h) const override {
    return engine_->layer_bytes(heads, d, h);
  }
  [[nodiscard]] std::size_t capacity(std::size_t wanted) const override { return engine_->capacity(wanted); }
  [[nodiscard]] std::vector<std::byte> pack(const PreparedLayer& layer) const override { return engine_->pack(layer); }
  [[nodiscard]] std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const override {
    return engine_->unpack(bytes);
  }
  [[nodiscard]] std::string name() const override { return "counting"; }

  mutable std::atomic<std::size_t> blocks = 0;
  mutable std::atomic<std::size_t> prepared = 0;

 private:
  std::unique_ptr<AffinityEngine> engine_ = cpu_affinity_engine();
};

// NaN is equal to NaN here: bits are compared.
bool same_bits(const Matrix& a, const Matrix& b) {
  return a.values().size() == b.values().size() &&
         std::memcmp(a.values().data(), b.values().data(), a.values().size_bytes()) == 0;
}

void expect_same(const std::vector<Affinities>& found, const std::vector<Affinities>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t p = 0; p < found.size(); ++p) {
    EXPECT_TRUE(same_bits(found[p].values, expected[p].values)) << to_string(expected[p].pair);
    EXPECT_EQ(found[p].source.heads, expected[p].source.heads);
    EXPECT_EQ(found[p].target.heads, expected[p].target.heads);
    EXPECT_EQ(found[p].source.ranks, expected[p].source.ranks);
    EXPECT_EQ(found[p].target.ranks, expected[p].target.ranks);
    const auto same_moments = [](const GramMoments& a, const GramMoments& b) {
      return a.trace == b.trace && a.trace_of_square == b.trace_of_square && a.trace_of_cube == b.trace_of_cube;
    };
    EXPECT_TRUE(std::ranges::equal(found[p].source.moments, expected[p].source.moments, same_moments));
    EXPECT_TRUE(std::ranges::equal(found[p].target.moments, expected[p].target.moments, same_moments));
  }
}

class SharedAffinity : public testing::TestWithParam<Metric> {
 protected:
  [[nodiscard]] std::vector<RolePair> pairs() const {
    std::vector<RolePair> some = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}};
    if (is_defined(GetParam(), {Role::kQ, Role::kQ})) some.push_back({Role::kQ, Role::kQ});
    return some;
  }
  [[nodiscard]] std::optional<std::vector<Affinities>> compute(const AffinityOptions& options,
                                                               const Context& context = {},
                                                               FinishedBlocks* finished = nullptr) const {
    return compute_affinities(model_, GetParam(), pairs(), options, context, finished);
  }

  const test::DeepLlama files_;
  const Model model_ = files_.open();
};

TEST_P(SharedAffinity, AnyNumberOfRanksGetsTheBitsOfOne) {
  for (const bool earlier_only : {false, true}) {
    const auto alone = compute({.earlier_only = earlier_only}).value();
    for (const std::size_t memory : {std::size_t{1}, std::size_t{1} << 30}) {
      if (memory == 1 && info(GetParam()).angles()) continue;  // slow, and they keep no heads
      for (const std::size_t size : {2U, 3U, 4U}) {
        test::on_ranks(size, [&](Ranks& ranks) {
          const auto shared = compute({.earlier_only = earlier_only}, {.memory = memory, .ranks = ranks});
          EXPECT_EQ(shared.has_value(), ranks.is_root());
          if (shared) expect_same(*shared, alone);
        });
      }
    }
  }
}

TEST_P(SharedAffinity, RanksTogetherComputeEveryBlockOnce) {
  const auto alone = std::make_shared<CountingEngine>();
  (void)compute({}, {.affinity_engine = alone});
  std::atomic<std::size_t> blocks = 0;
  test::on_ranks(3, [&](Ranks& ranks) {
    const auto own = std::make_shared<CountingEngine>();
    (void)compute({}, {.ranks = ranks, .affinity_engine = own});
    blocks += own->blocks;
  });
  EXPECT_EQ(blocks, alone->blocks);
}

TEST_P(SharedAffinity, ARunThatWasStoppedGoesOnWhereItWas) {
  const auto whole = std::make_shared<CountingEngine>();
  const auto expected = compute({}, {.affinity_engine = whole}).value();
  for (const std::size_t ranks_before : {1U, 3U}) {
    const test::TemporaryFolder folder;
    const auto stopped = [&](Ranks& ranks) {
      FinishedWork work(folder.path(), "relate", "key", ranks.rank(), 0);
      FinishedBlocks finished(work);
      int calls = 0;
      const auto stop = [&](std::string_view, double) {
        if (++calls == 12) throw 1;
      };
      (void)compute({}, {.ranks = ranks, .on_progress = stop}, &finished);
    };
    EXPECT_THROW(test::on_ranks(ranks_before, stopped), int);
    const auto rest = std::make_shared<CountingEngine>();
    FinishedWork work(folder.path(), "relate", "key", 0, 0);
    FinishedBlocks finished(work);
    expect_same(compute({}, {.affinity_engine = rest}, &finished).value(), expected);
    EXPECT_GT(finished.restored(), 0U);
    if (!info(GetParam()).angles()) {
      EXPECT_EQ(rest->blocks + finished.restored(), whole->blocks);
    }
    // And when all is there nothing is computed at all, by however many.
    FinishedWork work_of_all(folder.path(), "relate", "key", 0, 0);
    FinishedBlocks all(work_of_all);
    const auto none = std::make_shared<CountingEngine>();
    expect_same(compute({}, {.affinity_engine = none}, &all).value(), expected);
    EXPECT_EQ(none->blocks + none->prepared, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, SharedAffinity,
                         testing::Values(Metric::kPk, Metric::kCs, Metric::kCka, Metric::kGrassmann),
                         [](const auto& param_info) { return std::string(headscope::info(param_info.param).name); });

TEST(SharedRelate, TheMatchedNullHasTheBitsOfOneRank) {
  const test::DeepLlama files;
  const Model model = files.open();
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kV}};
  const auto alone = matched_laws(model, Metric::kPk, pairs, {}, {.draws = 4, .seed = 3}).value();
  test::on_ranks(3, [&](Ranks& ranks) {
    const auto shared = matched_laws(model, Metric::kPk, pairs, {}, {.draws = 4, .seed = 3}, {.ranks = ranks});
    ASSERT_EQ(shared.has_value(), ranks.is_root());
    if (!shared) return;
    ASSERT_EQ(shared->size(), pairs.size());
    for (std::size_t p = 0; p < shared->size(); ++p) {
      EXPECT_EQ((*shared)[p].moments.mean, alone[p].moments.mean);
      EXPECT_EQ((*shared)[p].moments.deviation, alone[p].moments.deviation);
      EXPECT_EQ((*shared)[p].source.mean_rank, alone[p].source.mean_rank);
      EXPECT_EQ((*shared)[p].target.full_rank, alone[p].target.full_rank);
    }
  });
}

TEST(SharedRelate, OnlyRankZeroHasAResult) {
  const test::DeepLlama files;
  const Model model = files.open();
  const RelateResult alone = relate(model).value();
  test::on_ranks(2, [&](Ranks& ranks) {
    const std::optional<RelateResult> shared = relate(model, {}, {.ranks = ranks});
    ASSERT_EQ(shared.has_value(), ranks.is_root());
    if (shared) {
      EXPECT_EQ(shared->edges.size(), alone.edges.size());
    }
  });
}

}  // namespace
}  // namespace headscope
