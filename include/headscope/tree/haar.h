#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/tree/partition_tree.h"

namespace headscope {

/// The Haar basis of a partition tree on n elements, orthonormal in R^n (OA, arXiv 2506.15541): the constant
/// 1/sqrt(n), and for each folder with children of sizes n_1 >= n_2 >= ... >= n_c (ties in the tree's order) the c - 1
/// contrasts of child i with the union of the later ones, m = n_{i+1} + ... + n_c:
///
///     psi = sqrt(m / (n_i (n_i + m))) on child i,   -sqrt(n_i / (m (n_i + m))) on the later ones,   0 elsewhere.
///
/// Coefficients are numbered: 0 is the constant, then the contrasts folder by folder, from the root down.
///
/// The basis is never built. The transform is n - 1 plane reflections: a child is represented by (sum over it) /
/// sqrt(its size), and a contrast takes two such numbers x, y to (a x + b y, b x - a y) with a^2 = n_i / (n_i + m),
/// b^2 = m / (n_i + m). The first result represents the union, the second is the coefficient. Each reflection is its
/// own inverse, so the inverse transform is the same list backwards.
///
/// Cost: O(n) to make and, for a vector, O(n) to transform.
class HaarBasis {
 public:
  /// Acts on positions `kept` and `left`: (x, y) -> (a x + b y, b x - a y).
  struct Reflection {
    std::uint32_t kept;
    std::uint32_t left;
    double a;
    double b;
  };

  explicit HaarBasis(const PartitionTree& tree);

  /// n.
  [[nodiscard]] std::size_t size() const noexcept { return place_.size(); }

  /// In the order of the forward transform.
  [[nodiscard]] std::span<const Reflection> reflections() const noexcept { return reflections_; }
  /// Where element i stands before the reflections, so that afterwards coefficient k stands at k.
  [[nodiscard]] std::span<const std::uint32_t> place() const noexcept { return place_; }

  /// For each coefficient, the share of the n elements in the folder whose children it contrasts; 1 for the constant.
  [[nodiscard]] std::span<const double> volumes() const noexcept { return volumes_; }
  /// For each coefficient, the share of the n elements where the basis vector is not zero.
  [[nodiscard]] std::span<const double> supports() const noexcept { return supports_; }

  /// Coefficients of a vector of n numbers.
  [[nodiscard]] std::vector<double> forward(std::span<const double> values) const;
  /// The vector that has these coefficients.
  [[nodiscard]] std::vector<double> inverse(std::span<const double> coefficients) const;

 private:
  std::vector<Reflection> reflections_;
  std::vector<std::uint32_t> place_;
  std::vector<double> volumes_;
  std::vector<double> supports_;
};

enum class HaarDirection { kForward, kInverse };

/// Transforms along the middle axis of an array [outer, n, inner], row-major, in place: each of the outer * inner
/// lines of n numbers on its own.
///
/// Lines are taken in blocks that fit the cache and transformed side by side, one line a SIMD lane; where inner is 1
/// the block is transposed on the way in and out. One pass over memory, O(outer n inner) flops, threads share the
/// blocks. Every SIMD width and number of threads gives the same bits up to fused multiply-adds.
void haar_transform(std::span<float> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction);
void haar_transform(std::span<double> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction);

/// Sum of the magnitudes of what the forward transform would leave in `values`, which stay as they are.
[[nodiscard]] double haar_l1(std::span<const float> values, std::size_t outer, const HaarBasis& basis,
                             std::size_t inner);

/// How many neighboring lines of an array [n, inner] are transformed side by side, and summed together by `haar_l1`.
[[nodiscard]] std::size_t haar_block_lines(const HaarBasis& basis, std::size_t inner);
/// The sums of `haar_l1` of an array [n, inner], one for every `lines` neighboring lines; the last may have fewer.
///
/// With `haar_block_lines` of the whole array, the sums of parts that were cut between blocks are those of the whole,
/// and added up in order they are `haar_l1` of it, to the bit.
[[nodiscard]] std::vector<double> haar_l1_blocks(std::span<const float> values, const HaarBasis& basis,
                                                 std::size_t inner, std::size_t lines);

}  // namespace headscope
