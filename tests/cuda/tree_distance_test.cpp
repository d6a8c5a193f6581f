#include "headscope/organize/tree_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cuda/device_test.h"
#include "support/random_tree.h"
#include "support/tensor_case.h"
#include "support/tree_distance_ranks.h"

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

// Several tiles of slices, several batches of features, and a tensor with gaps between its rows.
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
  test::expect_equal_slices_to_be_as_one(*cuda_tree_distance(), 85);
}

TEST_F(CudaTreeDistance, DoesNotSeeWhatAllSlicesShare) {
  test::expect_blind_to_what_slices_share(*cuda_tree_distance());
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

// The ranks share the device.
TEST_F(CudaTreeDistance, AnyNumberOfRanksGetsTheBitsOfOne) {
  const std::vector<std::size_t> sizes = {2, 5};
  test::expect_ranks_to_get_the_bits_of_one([] { return cuda_tree_distance(); }, sizes);
}

TEST_F(CudaTreeDistance, StopsWhenItsProgressThrows) {
  const Case c({40, 30, 200}, 7);
  struct Stop {};
  const auto bound = cuda_tree_distance()->bind(c.slices(0), AbsentEntries::kZero);
  double last = 0;
  const auto compute = [&](const Context& context) {
    static_cast<void>(bound->compute(test::random_tree(30, 1), test::random_tree(200, 2), {}, context));
  };
  EXPECT_NO_THROW(compute({.on_progress = [&](std::string_view, double share) { last = share; }}));
  EXPECT_EQ(last, 1);
  EXPECT_THROW(compute({.on_progress = [](std::string_view, double) { throw Stop(); }}), Stop);
}

}  // namespace
}  // namespace headscope
