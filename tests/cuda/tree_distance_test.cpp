#include "headscope/organize/tree_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "cuda/device_test.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

using test::reference::Tensor;
using Extents = std::array<std::size_t, 3>;

struct Case {
  Extents extents;
  std::vector<float> values;
  std::vector<std::uint8_t> present;

  Case(Extents shape, std::uint64_t seed)
      : extents(shape), values(test::normals(shape[0] * shape[1] * shape[2], seed)) {}

  // Some entries absent at random, the same for all of axis 0 if `shared`; the values there are wild.
  void hide(double share, bool shared, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::bernoulli_distribution hidden(share);
    present.resize(values.size());
    const std::size_t map = extents[1] * extents[2];
    for (std::size_t i = 0; i < values.size(); ++i) {
      present[i] = shared && i >= map ? present[i % map] : !hidden(random);
      if (present[i] == 0) values[i] = 1e30F;
    }
  }

  [[nodiscard]] TensorSlices slices(std::size_t axis, bool shared = false) const {
    const Extents strides = {extents[1] * extents[2], extents[2], 1};
    const std::size_t a = axis == 0 ? 1 : 0;
    const std::size_t b = axis == 2 ? 1 : 2;
    TensorSlices result{
        values.data(), extents[axis], extents[a], extents[b], strides[axis], strides[a], strides[b], nullptr, 0, 0, 0};
    if (present.empty()) return result;
    const Extents mask_strides = {shared ? 0 : strides[0], strides[1], strides[2]};
    result.present = present.data();
    result.present_slice_stride = mask_strides[axis];
    result.present_row_stride = mask_strides[a];
    result.present_column_stride = mask_strides[b];
    return result;
  }
};

class CudaTreeDistance : public test::OnDevice<testing::Test> {
 protected:
  [[nodiscard]] static DoubleMatrix distances(const TensorSlices& slices, AbsentEntries absent,
                                              const PartitionTree& rows, const PartitionTree& columns,
                                              const FolderWeightOptions& weights = {}) {
    return cuda_tree_distance()->bind(slices, absent)->compute(rows, columns, weights, {});
  }

  static void expect_near(const DoubleMatrix& found, const DoubleMatrix& expected, double bound) {
    ASSERT_EQ(found.rows(), expected.rows());
    const double largest = *std::ranges::max_element(expected.values());
    for (std::size_t i = 0; i < found.rows(); ++i) {
      for (std::size_t j = 0; j < found.rows(); ++j) {
        ASSERT_NEAR(found(i, j), expected(i, j), bound * largest) << i << ", " << j;
      }
    }
  }

  static void expect_reference(const Case& c, AbsentEntries absent, bool shared, const FolderWeightOptions& weights) {
    const Tensor tensor{c.extents, {c.values.begin(), c.values.end()}, c.present, absent == AbsentEntries::kZero};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const PartitionTree rows = test::random_tree(c.extents[axis == 0 ? 1 : 0], 7);
      const PartitionTree columns = test::random_tree(c.extents[axis == 2 ? 1 : 2], 8);
      expect_near(distances(c.slices(axis, shared), absent, rows, columns, weights),
                  test::reference::emd(tensor, axis, test::levels_of(rows), test::levels_of(columns), weights.alpha,
                                       weights.beta),
                  2e-6);
    }
  }
};

const std::vector<Extents> kShapes = {{1, 1, 1},  {3, 4, 5},   {9, 33, 6}, {40, 7, 13},
                                      {2, 70, 3}, {5, 1, 150}, {1, 12, 40}};

TEST_F(CudaTreeDistance, EqualsItsDefinition) {
  for (const Extents& shape : kShapes) {
    const Case c(shape, 1);
    expect_reference(c, AbsentEntries::kZero, false, {});
    expect_reference(c, AbsentEntries::kLeftOut, false, {.alpha = 0.5, .beta = -0.3});
  }
}

TEST_F(CudaTreeDistance, CountsAbsentEntriesAsZero) {
  for (const Extents& shape : kShapes) {
    Case c(shape, 2);
    c.hide(0.4, false, 5);
    expect_reference(c, AbsentEntries::kZero, false, {});
  }
}

TEST_F(CudaTreeDistance, LeavesAbsentEntriesOut) {
  for (const bool shared : {false, true}) {
    for (const Extents& shape : kShapes) {
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
    expect_near(found, expected, 1e-5);

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
