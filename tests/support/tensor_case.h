#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "headscope/organize/tree_distance.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tree.h"

namespace headscope::test {

/// A random tensor with three axes, whose slices are compared.
struct TensorCase {
  std::array<std::size_t, 3> extents;
  std::vector<float> values;
  std::vector<std::uint8_t> present;

  TensorCase(std::array<std::size_t, 3> shape, std::uint64_t seed)
      : extents(shape), values(normals(shape[0] * shape[1] * shape[2], seed)) {}

  /// Makes entries absent at random, the same ones for all of axis 0 if `shared`, and sets their values to 1e30.
  void hide(double share, bool shared, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    present.resize(values.size());
    const std::size_t map = extents[1] * extents[2];
    for (std::size_t i = 0; i < values.size(); ++i) {
      present[i] = shared && i >= map ? present[i % map] : uniform(random) >= share;
      if (present[i] == 0) values[i] = 1e30F;
    }
  }

  /// Slices along an axis.
  [[nodiscard]] TensorSlices slices(std::size_t axis, bool shared = false) const {
    const std::array<std::size_t, 3> strides = {extents[1] * extents[2], extents[2], 1};
    const std::size_t a = axis == 0 ? 1 : 0;
    const std::size_t b = axis == 2 ? 1 : 2;
    TensorSlices result{
        values.data(), extents[axis], extents[a], extents[b], strides[axis], strides[a], strides[b], nullptr, 0, 0, 0};
    if (present.empty()) return result;
    const std::array<std::size_t, 3> mask_strides = {shared ? 0 : strides[0], strides[1], strides[2]};
    result.present = present.data();
    result.present_slice_stride = mask_strides[axis];
    result.present_row_stride = mask_strides[a];
    result.present_column_stride = mask_strides[b];
    return result;
  }
  [[nodiscard]] reference::Tensor as_reference(AbsentEntries absent) const {
    return {extents, {values.begin(), values.end()}, present, absent == AbsentEntries::kZero};
  }
};

inline const std::vector<std::array<std::size_t, 3>> kTensorShapes = {
    {1, 1, 1}, {3, 4, 5}, {9, 33, 6}, {40, 7, 13}, {2, 70, 3}, {5, 1, 150}, {1, 12, 40}, {3, 2, 400}};

/// Expects every distance to be within `bound` times the largest.
inline void expect_near(const DoubleMatrix& found, const DoubleMatrix& expected, double bound) {
  ASSERT_EQ(found.rows(), expected.rows());
  const double largest = *std::ranges::max_element(expected.values());
  for (std::size_t i = 0; i < found.rows(); ++i) {
    for (std::size_t j = 0; j < found.rows(); ++j) {
      ASSERT_NEAR(found(i, j), expected(i, j), bound * largest) << i << ", " << j;
    }
  }
}

inline DoubleMatrix distances(const TreeDistance& distance, const TensorSlices& slices, AbsentEntries absent,
                              const PartitionTree& rows, const PartitionTree& columns,
                              const FolderWeightOptions& weights = {}) {
  return distance.bind(slices, absent)->compute(rows, columns, weights, {});
}

/// Expects the distances of slices along each axis to match the definition.
inline void expect_reference(const TreeDistance& distance, const TensorCase& c, AbsentEntries absent, bool shared,
                             const FolderWeightOptions& weights) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const PartitionTree rows = random_tree(c.extents[axis == 0 ? 1 : 0], 7);
    const PartitionTree columns = random_tree(c.extents[axis == 2 ? 1 : 2], 8);
    expect_near(
        distances(distance, c.slices(axis, shared), absent, rows, columns, weights),
        reference::emd(c.as_reference(absent), axis, levels_of(rows), levels_of(columns), weights.alpha, weights.beta),
        2e-6);
  }
}

/// Makes two distant slices out of `slices` equal. Expects their distance to be exactly 0 and their rows to be
/// identical.
inline void expect_equal_slices_to_be_as_one(const TreeDistance& distance, std::size_t slices) {
  TensorCase c({slices, 11, 20}, 4);
  const std::size_t copy = slices - 4;
  std::copy_n(c.values.begin() + 2 * 220, 220, c.values.begin() + static_cast<std::ptrdiff_t>(copy * 220));
  const DoubleMatrix d = distances(distance, c.slices(0), AbsentEntries::kZero, random_tree(11, 1), random_tree(20, 2));
  EXPECT_EQ(d(2, copy), 0);
  for (std::size_t i = 0; i < slices; ++i) {
    EXPECT_EQ(d(i, i), 0);
    EXPECT_EQ(d(2, i), d(copy, i));
    EXPECT_EQ(d(i, 2), d(2, i));
  }
}

/// Expects distances not to change if a constant is added to all slices.
inline void expect_blind_to_what_slices_share(const TreeDistance& distance) {
  TensorCase c({10, 8, 9}, 5);
  const PartitionTree rows = random_tree(8, 1);
  const PartitionTree columns = random_tree(9, 2);
  const DoubleMatrix before = distances(distance, c.slices(0), AbsentEntries::kZero, rows, columns);
  for (float& value : c.values) value += 30;
  const DoubleMatrix after = distances(distance, c.slices(0), AbsentEntries::kZero, rows, columns);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(after.values()[i], before.values()[i], 1e-4);
}

}  // namespace headscope::test
