#include "relate/work_plan.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "support/temporary_folder.h"

namespace headscope {
namespace {

Context listening(std::vector<double>& reported) {
  Context context;
  context.on_progress = [&](std::string_view, double share) { reported.push_back(share); };
  return context;
}

TEST(SplitByWork, ReportsWorkDoneOverWorkPlanned) {
  std::vector<double> reported;
  const std::vector<Context> stages = split_by_work(listening(reported), std::vector<double>{1e9, 0, 3e9});
  for (const auto& [stage, share] : std::vector<std::pair<std::size_t, double>>{{0, 0.5}, {0, 1}, {1, 1}, {2, 1}}) {
    stages[stage].report(share);
  }
  EXPECT_EQ(reported, (std::vector{0.125, 0.25, 0.25, 1.0}));
}

TEST(SplitByWork, ReportsThatNoWorkIsComplete) {
  std::vector<double> reported;
  split_by_work(listening(reported), std::vector<double>{0, 0})[0].report(0.5);
  EXPECT_EQ(reported, std::vector{1.0});
}

TEST(WorkPlan, DoesNotCountWhatIsFinished) {
  const HeadSizes sizes{.layers = 3, .heads = 4, .kv_heads = 2, .d_model = 64, .d_head = 8};
  RelateOptions options;
  options.pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}};
  options.metrics = {Metric::kPk, Metric::kCka};
  const double flops = 2.0 * 64 * 8 * 8;
  const NullModel nulls[] = {NullModel::kIsotropic, NullModel::kMatched};
  const auto all = plan_work(sizes, options, nulls, nullptr);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], 9 * (4 * 4 + 4 * 2) * flops);
  EXPECT_EQ(all[1], all[0]);
  EXPECT_GT(all[2], 0);
  EXPECT_GT(all[3], 0);
  options.affinity.earlier_only = true;
  EXPECT_EQ(plan_work(sizes, options, nulls, nullptr)[0], 3 * (4 * 4 + 4 * 2) * flops);

  const test::TemporaryFolder folder;
  const Matrix block(4, 4);
  {
    FinishedWork work_of_earlier(folder.path(), "relate", "key", 0, 0);
    FinishedBlocks earlier(work_of_earlier);
    earlier.keep(BlockId{Metric::kPk, Role::kO, Role::kQ, 0, 2}, block.view());
    earlier.keep(BlockId{Metric::kPk, Role::kO, Role::kQ, 2, 0}, block.view());  // not asked for
  }
  FinishedWork work(folder.path(), "relate", "key");
  const FinishedBlocks finished(work);
  const auto left = plan_work(sizes, options, nulls, &finished);
  EXPECT_EQ(left[0], (2 * 4 * 4 + 3 * 4 * 2) * flops);
  EXPECT_EQ(left[1], 3 * (4 * 4 + 4 * 2) * flops);
}

}  // namespace
}  // namespace headscope
