#include "headscope/organize/tree_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cuda/device_test.h"
#include "support/random_tree.h"
#include "support/tensor_case.h"

namespace headscope {
namespace {

using Case = test::TensorCase;

class CudaTreeDistance : public test::OnDevice<testing::Test> {
 protected:
  [[nodiscard]] static DoubleMatrix distances(const TensorSlices& slices, AbsentEntries absent,
                                              const PartitionTree& rows, const PartitionTree& columns,
                                              const FolderWeightOptions& weights = {}) {
    return test::distances(*cuda_tree_distance(), slices, absent, rows, columns, weights);
  }

  static void expect_reference(const Case& c, AbsentEntries absent, bool shared, const FolderWeightOptions& weights) {
    test::expect_reference(*cuda_tree_distance(), c, absent, shared, weights);
  }
};

TEST_F(CudaTreeDistance, EqualsItsDefinition) {
  for (const auto& shape : test::kTensorShapes) {
    const Case c(shape, 1);
    expect_reference(c, AbsentEntries::kZero, false, {});
    expect_reference(c, AbsentEntries::kLeftOut, false, {.alpha = 0.5, .beta = -0.3});
  }
}

TEST_F(CudaTreeDistance, CountsAbsentEntriesAsZero) {
  for (const auto& shape : test::kTensorShapes) {
    Case c(shape, 2);
    c.hide(0.4, false, 5);
    expect_reference(c, AbsentEntries::kZero, false, {});
  }
}

TEST_F(CudaTreeDistance, LeavesAbsentEntriesOut) {
  for (const bool shared : {false, true}) {
    for (const auto& shape : test::kTensorShapes) {
      Case c(shape, 3);
      c.hide(0.6, shared, 6);
      expect_reference(c, AbsentEntries::kLeftOut, shared, {});
      expect_reference(c, AbsentEntries::kLeftOut, shared, {.alpha = 1, .beta = 0});
    }
  }
}

// Several tiles of slices, several batches of features, a tensor with gaps between its rows.
TEST_F(CudaTreeDistance, EqualsThatOfTheCpuOnALargerTensor) {
  for (const bool masked : {false, true}) {
    Case c({150, 60, 70}, 4);
    if (masked) c.hide(0.3, false, 9);
    const AbsentEntries absent = AbsentEntries::kLeftOut;
    const PartitionTree rows = test::random_tree(60, 1);
    const PartitionTree columns = test::random_tree(70, 2);
    const DoubleMatrix expected = cpu_tree_distance()->bind(c.slices(0), absent)->compute(rows, columns, {}, {});
    const DoubleMatrix found = distances(c.slices(0), absent, rows, columns);
    test::expect_near(found, expected, 1e-5);

    Case gaps = c;
    gaps.values.assign(150 * 60 * 75, 1e30F);
    for (std::size_t i = 0; i < c.values.size(); ++i) gaps.values[i / 70 * 75 + i % 70] = c.values[i];
    TensorSlices slices = gaps.slices(0);
    slices.slice_stride = 60 * 75;
    slices.row_stride = 75;
    const DoubleMatrix with_gaps = distances(slices, absent, rows, columns);
    EXPECT_TRUE(std::ranges::equal(with_gaps.values(), found.values()));
  }
}

TEST_F(CudaTreeDistance, OfEqualSlicesIsExactlyZeroAndTheirRowsAreEqual) {
  Case c({85, 11, 20}, 4);
  std::copy_n(c.values.begin() + 2 * 220, 220, c.values.begin() + 81 * 220);
  const DoubleMatrix d =
      distances(c.slices(0), AbsentEntries::kZero, test::random_tree(11, 1), test::random_tree(20, 2));
  EXPECT_EQ(d(2, 81), 0);
  for (std::size_t i = 0; i < 85; ++i) {
    EXPECT_EQ(d(i, i), 0);
    EXPECT_EQ(d(2, i), d(81, i));
    EXPECT_EQ(d(i, 2), d(2, i));
  }
}

TEST_F(CudaTreeDistance, DoesNotSeeWhatAllSlicesShare) {
  Case c({10, 8, 9}, 5);
  const PartitionTree rows = test::random_tree(8, 1);
  const PartitionTree columns = test::random_tree(9, 2);
  const DoubleMatrix before = distances(c.slices(0), AbsentEntries::kZero, rows, columns);
  for (float& value : c.values) value += 30;
  const DoubleMatrix after = distances(c.slices(0), AbsentEntries::kZero, rows, columns);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(after.values()[i], before.values()[i], 1e-4);
}

TEST_F(CudaTreeDistance, GivesTheSameBitsEveryTime) {
  const Case c({100, 40, 90}, 6);
  const PartitionTree rows = test::random_tree(40, 1);
  const PartitionTree columns = test::random_tree(90, 2);
  const auto bound = cuda_tree_distance()->bind(c.slices(0), AbsentEntries::kZero);
  const DoubleMatrix first = bound->compute(rows, columns, {}, {});
  const DoubleMatrix second = bound->compute(rows, columns, {}, {});
  const DoubleMatrix third = distances(c.slices(0), AbsentEntries::kZero, rows, columns);
  EXPECT_TRUE(std::ranges::equal(first.values(), second.values()));
  EXPECT_TRUE(std::ranges::equal(first.values(), third.values()));
}

TEST_F(CudaTreeDistance, StopsWhenItsProgressThrows) {
  const Case c({40, 30, 200}, 7);
  struct Stop {};
  const auto bound = cuda_tree_distance()->bind(c.slices(0), AbsentEntries::kZero);
  double last = 0;
  EXPECT_NO_THROW(static_cast<void>(
      bound->compute(test::random_tree(30, 1), test::random_tree(200, 2), {}, [&](double share) { last = share; })));
  EXPECT_EQ(last, 1);
  EXPECT_THROW(static_cast<void>(bound->compute(test::random_tree(30, 1), test::random_tree(200, 2), {},
                                                [](double) { throw Stop(); })),
               Stop);
}

}  // namespace
}  // namespace headscope
