#include "relate/stages.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/temporary_folder.h"

namespace headscope {
namespace {

struct Piece {
  Stage stage;
  double seconds = 0;
};

// Pieces of work that report every hundredth of theirs: from a tenth of the time on, what the share says of the whole
// is within a fifth of what it is.
void expect_right_after_a_tenth(const std::vector<Piece>& pieces, double on_processors) {
  double clock = 7;
  double total = 0;
  std::vector<Stage> stages;
  for (const Piece& piece : pieces) {
    stages.push_back(piece.stage);
    total += piece.seconds;
  }
  double share = 0;
  const std::function<void(double)> progress = [&](double reported) {
    EXPECT_GE(reported, share);
    share = reported;
  };
  Stages work(progress, stages, on_processors, [&] { return clock; });
  double spent = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto report = work.progress_of(i);
    for (int step = 1; step <= 100; ++step) {
      clock += pieces[i].seconds / 100;
      spent += pieces[i].seconds / 100;
      report(step / 100.0);
      if (spent < 0.1 * total) continue;
      EXPECT_NEAR(spent / share, total, 0.2 * total) << spent << " of " << total;
    }
  }
  EXPECT_EQ(share, 1);
}

TEST(Stages, TakeWhatTheirFlopsTookBefore) {
  expect_right_after_a_tenth({{{1e12, true}, 10}, {{3e12, true}, 31}, {{2e12, false}, 19}}, 0);
}

// At its beginning the second piece believes that it will be over soon.
TEST(Stages, ArePatientWithTheFirstWordsOfAPiece) {
  double clock = 0;
  double share = 0;
  const std::function<void(double)> progress = [&](double reported) { share = reported; };
  Stages work(progress, {{1e12, true}, {1e12, true}, {1e12, true}}, 0, [&] { return clock; });
  clock = 10;
  work.progress_of(0)(1);
  EXPECT_NEAR(share, 1.0 / 3, 1e-12);
  clock = 10.1;
  work.progress_of(1)(0.04);
  EXPECT_NEAR(clock / share, 30, 3);
}

// A device is a thousand times as fast as the processors, which the last piece is left to.
TEST(Stages, OnProcessorsTakeAsLongAsThere) {
  expect_right_after_a_tenth({{{1e15, true}, 10}, {{1e15, true}, 11}, {{2e13, false}, 200}}, 1.1e-11);
  expect_right_after_a_tenth({{{1e13, false}, 100}, {{2e13, false}, 200}}, 3e-11);  // seen is better than measured
}

TEST(Stages, KnowHowLongTheRestTakes) {
  expect_right_after_a_tenth({{{1e12, true}, 10}, {{0, false, 11}, 10}}, 0);
}

// Of three metrics an earlier run has finished one.
TEST(Stages, ThatAreFinishedDoNotCount) {
  expect_right_after_a_tenth({{{0, true}, 0.001}, {{1e12, true}, 10}, {{1e12, true}, 10}}, 0);
  expect_right_after_a_tenth({{{1e12, true}, 10}, {{0, true}, 0.001}, {{1e12, true}, 10}}, 0);
}

TEST(Stages, ArePlannedWithoutWhatIsFinished) {
  const HeadSizes sizes{.layers = 3, .heads = 4, .kv_heads = 2, .d_model = 64, .d_head = 8};
  RelateOptions options;
  options.pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}};
  options.metrics = {Metric::kPk, Metric::kCka};
  const double flops = 2.0 * 64 * 8 * 8;
  const NullModel nulls[] = {NullModel::kIsotropic, NullModel::kMatched};
  const auto all = plan_stages(sizes, options, nulls);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].flops, 9 * (4 * 4 + 4 * 2) * flops);
  EXPECT_EQ(all[1].flops, all[0].flops);
  EXPECT_TRUE(all[1].on_engine);
  EXPECT_FALSE(all[2].on_engine);
  EXPECT_GT(all[3].seconds, 0);
  options.affinity.earlier_only = true;
  EXPECT_EQ(plan_stages(sizes, options, nulls)[0].flops, 3 * (4 * 4 + 4 * 2) * flops);

  const test::TemporaryFolder folder;
  const Matrix block(4, 4);
  {
    FinishedBlocks earlier(folder.path(), "key", 0, 0);
    earlier.keep(BlockId{Metric::kPk, Role::kO, Role::kQ, 0, 2}, block.view());
    earlier.keep(BlockId{Metric::kPk, Role::kO, Role::kQ, 2, 0}, block.view());  // not asked for
  }
  FinishedBlocks finished(folder.path(), "key");
  options.affinity.finished = &finished;
  const auto left = plan_stages(sizes, options, nulls);
  EXPECT_EQ(left[0].flops, (2 * 4 * 4 + 3 * 4 * 2) * flops);
  EXPECT_EQ(left[1].flops, 3 * (4 * 4 + 4 * 2) * flops);
}

}  // namespace
}  // namespace headscope
