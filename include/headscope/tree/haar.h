#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/tree/partition_tree.h"

namespace headscope {

/// The Haar basis of a partition tree on n elements, orthonormal in R^n (OA, arXiv 2506.15541). It consists of the
/// constant 1/sqrt(n) and, for each folder with children of sizes n_1 >= n_2 >= ... >= n_c (ties in the tree's order),
/// the c - 1 contrasts of child i with the union of the later children, m = n_{i+1} + ... + n_c:
///
///     psi = sqrt(m / (n_i (n_i + m))) on child i,   -sqrt(n_i / (m (n_i + m))) on the later ones,   0 elsewhere.
///
/// Coefficient 0 is the constant; the contrasts follow folder by folder, from the root down.
///
/// The basis is never formed. The transform is n - 1 plane reflections: a child is represented by (sum over it) /
/// sqrt(its size), and a contrast maps two such numbers x, y to (a x + b y, b x - a y), where a^2 = n_i / (n_i + m) and
/// b^2 = m / (n_i + m). The first result represents the union, the second is the coefficient. Each reflection is its
/// own inverse, so the inverse transform is the same list in reverse order.
///
/// Cost: O(n log n + folders) to construct, O(n) to transform a vector.
class HaarBasis {
 public:
  /// Maps the numbers at positions `kept` and `left`: (x, y) -> (a x + b y, b x - a y).
  struct Reflection {
    std::uint32_t kept;
    std::uint32_t left;
    double a;
    double b;
  };

  explicit HaarBasis(const PartitionTree& tree);

  /// The number of elements, n.
  [[nodiscard]] std::size_t size() const noexcept { return place_.size(); }

  /// In the order of the forward transform.
  [[nodiscard]] std::span<const Reflection> reflections() const noexcept { return reflections_; }
  /// The position of element i before the reflections, chosen so that coefficient k ends up at position k.
  [[nodiscard]] std::span<const std::uint32_t> place() const noexcept { return place_; }

  /// For each coefficient, the fraction of the n elements in the folder whose children it contrasts; 1 for the
  /// constant.
  [[nodiscard]] std::span<const double> volumes() const noexcept { return volumes_; }
  /// For each coefficient, the fraction of the n elements where the basis vector is not zero.
  [[nodiscard]] std::span<const double> supports() const noexcept { return supports_; }

  /// Returns the coefficients of a vector of n numbers.
  [[nodiscard]] std::vector<double> forward(std::span<const double> values) const;
  /// Returns the vector with these coefficients.
  [[nodiscard]] std::vector<double> inverse(std::span<const double> coefficients) const;

 private:
  std::vector<Reflection> reflections_;
  std::vector<std::uint32_t> place_;
  std::vector<double> volumes_;
  std::vector<double> supports_;
};

enum class HaarDirection { kForward, kInverse };

/// Transforms a row-major array [outer, n, inner] along its middle axis, in place: each of the outer * inner lines of n
/// numbers separately.
///
/// Lines are processed in blocks that fit in cache and transformed side by side, one line per SIMD lane; if inner is 1,
/// the block is transposed on loading and storing. Makes one pass over memory and takes O(outer n inner) flops; threads
/// divide the blocks. The result is bitwise independent of the SIMD width and the number of threads, up to fused
/// multiply-adds.
void haar_transform(std::span<float> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction);
void haar_transform(std::span<double> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction);

/// Returns the sum of the magnitudes of the coefficients that the forward transform would produce, without changing
/// `values`.
[[nodiscard]] double haar_l1(std::span<const float> values, std::size_t outer, const HaarBasis& basis,
                             std::size_t inner);

/// Number of neighboring lines of an array [n, inner] that `haar_l1` transforms side by side and sums together.
[[nodiscard]] std::size_t haar_block_lines(const HaarBasis& basis, std::size_t inner);
/// Computes the sums of `haar_l1` of an array [n, inner], one per `lines` neighboring lines; the last block may have
/// fewer.
///
/// If `lines` is `haar_block_lines` of the whole array and the array is split at block boundaries, the sums of the
/// parts are those of the whole, and adding them in order gives `haar_l1` of the whole, bit for bit.
[[nodiscard]] std::vector<double> haar_l1_blocks(std::span<const float> values, const HaarBasis& basis,
                                                 std::size_t inner, std::size_t lines);

}  // namespace headscope
