#include "headscope/patch/head_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headscope/linalg/matrix_product.h"
#include "headscope/model/layer_order.h"
#include "support/expect_error.h"
#include "support/patch_case.h"
#include "support/random.h"

namespace headscope {
namespace {

using test::PatchCase;

double largest(const Matrix& matrix) {
  double most = 0;
  for (const float value : matrix.values()) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

TEST(HeadChange, IsTheReplacementMinusTheOutput) {
  const PatchCase one("llama");
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  const HeadId head{0, 3};
  const HeadChange zero(record, Replacement::kZero);
  const HeadChange pair(record, Replacement::kPair, &paired);
  const HeadChange mean(record, Replacement::kMean);
  std::vector<double> sums(one.sizes().d_head);
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const Matrix by_mean = mean.of_output(head, i);
    for (std::size_t t = 0; t < record.tokens(i); ++t) {
      for (std::size_t j = 0; j < sums.size(); ++j) {
        const float own = record.output(head, i)(t, j);
        EXPECT_EQ(zero.of_output(head, i)(t, j), -own);
        EXPECT_EQ(pair.of_output(head, i)(t, j), paired.output(head, i)(t, j) - own);
        sums[j] += static_cast<double>(by_mean(t, j));
      }
    }
  }
  for (const double sum : sums) EXPECT_NEAR(sum, 0, 1e-5);
}

TEST(HeadChange, AnInputPairedWithItselfChangesNothing) {
  const PatchCase one("bert");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kPair, &record);
  const HeadWeights writes = change.load_writes(0);
  EXPECT_EQ(largest(change.of_stream({0, 1}, 2, 0, writes)), 0);
}

class ChangeCase : public testing::TestWithParam<std::string> {};

// What the screen uses and what a cut uses are the same path, once backwards.
TEST_P(ChangeCase, ReadsCarriedBackSeeTheChangeOfTheStream) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kZero);
  const StepRange steps = steps_before(one.sizes(), one.sizes().layers - 1, Role::kQ);
  constexpr std::size_t kColumns = 3;
  Matrix reads(one.sizes().d_model, kColumns);
  std::ranges::copy(test::normals(reads.values().size(), 5), reads.values().begin());
  Matrix carried = reads;
  for (std::size_t step = steps.end; step-- > steps.begin;) {
    const std::size_t layer = layer_at(one.sizes(), step);
    change.carry_back(layer, carried);
    const HeadWeights writes = change.load_writes(layer);
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const HeadId source = one.sizes().head_of(layer, one.sizes().heads - 1);
      const Matrix moved = change.of_stream(source, steps.end, i, writes);
      Matrix expected(moved.rows(), kColumns);
      multiply(moved.view(), reads.view(), expected.span());
      const Matrix output = change.of_output(source, i);
      Matrix written(output.rows(), one.sizes().d_model);
      multiply(output.view(), writes.head(source.head).transposed(), written.span());
      Matrix found(output.rows(), kColumns);
      multiply(written.view(), carried.view(), found.span());
      const std::vector<float> factors = change.path_factors(layer, steps.end, i);
      ASSERT_EQ(factors.size(), found.rows());
      for (std::size_t t = 0; t < found.rows(); ++t) {
        for (std::size_t j = 0; j < kColumns; ++j) {
          EXPECT_NEAR(found(t, j) * factors[t], expected(t, j), 1e-5 * largest(expected));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChangeCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

TEST(HeadChange, CenterColumnsSubtractsTheMeanOfEachColumn) {
  Matrix matrix(3, 2);
  std::ranges::copy(std::vector<float>{1, 10, 2, 20, 6, 0}, matrix.values().begin());
  center_columns(matrix);
  const std::vector<float> expected = {-2, 0, -1, 10, 3, -10};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(matrix.values()[i], expected[i]);
}

TEST(HeadChange, Refusals) {
  const PatchCase one("llama");
  const RecordedPass record(one.model(), one.inputs);
  EXPECT_ERROR(HeadChange(record, Replacement::kPair), ErrorKind::kInvalidArgument, "3 inputs and 0 paired ones");
  const std::vector<ModelInput> two = {one.inputs[0], one.inputs[1]};
  const RecordedPass few(one.model(), two);
  EXPECT_ERROR(HeadChange(record, Replacement::kPair, &few), ErrorKind::kInvalidArgument,
               "3 inputs and 2 paired ones, expected one for each");
  const std::vector<ModelInput> swapped = {one.inputs[1], one.inputs[0], one.inputs[2]};
  const RecordedPass other(one.model(), swapped);
  EXPECT_ERROR(HeadChange(record, Replacement::kPair, &other), ErrorKind::kInvalidArgument,
               "input 0 has 9 tokens and the paired one 14, expected equal numbers");
}

}  // namespace
}  // namespace headscope
