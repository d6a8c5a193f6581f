#include "headscope/base/context.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace headscope {
namespace {

TEST(Context, ReportsNothingByDefault) {
  EXPECT_NO_THROW(Context().report(0.5));
  EXPECT_EQ(Context().ranks.get().size(), 1U);
}

TEST(Context, ReportsTheFractionOfItsStage) {
  std::vector<std::pair<std::string, double>> seen;
  Context context;
  context.on_progress = [&](std::string_view stage, double fraction) { seen.emplace_back(stage, fraction); };
  context.with_stage("reading").report(0.25);
  context.with_stage("writing").part(0.5, 1).part(0, 0.5).report(1);
  const std::vector<std::pair<std::string, double>> expected = {{"reading", 0.25}, {"writing", 0.75}};
  EXPECT_EQ(seen, expected);
}

TEST(Context, AsksBeforeItReports) {
  bool reported = false;
  Context context;
  context.poll = [] { throw std::runtime_error("stop"); };
  context.on_progress = [&](std::string_view, double) { reported = true; };
  EXPECT_THROW(context.part(0, 0.5).report(1), std::runtime_error);
  EXPECT_FALSE(reported);
}

}  // namespace
}  // namespace headscope
