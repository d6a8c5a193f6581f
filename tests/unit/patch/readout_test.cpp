#include "headscope/patch/readout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

Matrix logits_of(const std::vector<std::vector<float>>& rows) {
  Matrix matrix(rows.size(), rows.front().size());
  for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(rows[i], matrix.row(i).begin());
  return matrix;
}

TEST(Readout, TheLossIsMinusTheLogarithmOfTheAnswersProbability) {
  const std::vector<Readout> readouts = {{0, 2, {}}, {1, 0, {}}};
  ReadoutSum sum(readouts);
  sum.add({0, 0, 2, logits_of({{0, std::log(2.0F), std::log(5.0F)}, {-1, -1, -1}}).view()});
  EXPECT_NEAR(sum.sum(), -std::log(5.0 / 8) + std::log(3.0), 1e-6);
}

TEST(Readout, LargeLogitsDoNotOverflow) {
  const std::vector<Readout> readouts = {{0, 1, {}}};
  ReadoutSum sum(readouts);
  sum.add({0, 0, 1, logits_of({{30000, 29990, -30000}}).view()});
  EXPECT_NEAR(sum.sum(), 10 + std::log1p(std::exp(-10.0)), 1e-6);
}

TEST(Readout, ADifferenceOfLogits) {
  const std::vector<Readout> readouts = {{0, 1, 2}, {1, 0, 0}, {2, 2, 1}};
  ReadoutSum sum(readouts);
  sum.add({0, 0, 3, logits_of({{9, 4, 1.5F}, {7, 7, 7}, {0, 1, 5}}).view()});
  EXPECT_DOUBLE_EQ(sum.sum(), 2.5 + 0 + 4);
}

TEST(Readout, RowsMayComeInParts) {
  const std::vector<Readout> readouts = {{1, 1, {}}, {3, 0, {}}, {4, 2, {}}};
  const std::vector<std::vector<float>> rows = {{1, 2, 3}, {0, 1, 0}, {5, 4, 3}, {2, 2, 1}, {0, 0, 7}};
  ReadoutSum whole(readouts);
  whole.add({0, 0, 5, logits_of(rows).view()});
  ReadoutSum parts(readouts);
  parts.add({0, 0, 5, logits_of({rows[0], rows[1], rows[2]}).view()});
  parts.add({0, 3, 5, logits_of({rows[3]}).view()});
  parts.add({0, 4, 5, logits_of({rows[4]}).view()});
  EXPECT_EQ(whole.sum(), parts.sum());
  EXPECT_GT(whole.sum(), 0);
}

TEST(Readout, APredictionThatTheModelDoesNotMake) {
  const Matrix logits = logits_of({{1, 2, 3}, {0, 1, 0}});
  const auto add = [&](const Readout& readout) {
    const std::vector<Readout> readouts = {readout};
    ReadoutSum(readouts).add({0, 0, 2, logits.view()});
  };
  add({1, 2, 0});
  EXPECT_ERROR(add({1, 3, {}}), ErrorKind::kInvalidArgument, "3 is not one of the 3 possible answers");
  EXPECT_ERROR(add({1, 0, 4}), ErrorKind::kInvalidArgument, "4 is not one of the 3 possible answers");
  EXPECT_ERROR(add({2, 0, {}}), ErrorKind::kInvalidArgument, "no prediction 2: the model makes 2");
}

TEST(Readout, EveryTokenButTheFirstIsAnAnswer) {
  const ModelInput input{.ids = {7, 3, 9, 4}};
  const std::vector<Readout> all = next_token_readouts(input, 0);
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].row, i);
    EXPECT_EQ(all[i].answer, input.ids[i + 1]);
    EXPECT_FALSE(all[i].other);
  }
  const std::vector<Readout> last = next_token_readouts(input, 2);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].row, 2u);
  EXPECT_EQ(last[0].answer, 4u);
  EXPECT_TRUE(next_token_readouts(input, 3).empty());
  EXPECT_TRUE(next_token_readouts({.ids = {5}}, 0).empty());
  EXPECT_TRUE(next_token_readouts({}, 0).empty());
}

}  // namespace
}  // namespace headscope
