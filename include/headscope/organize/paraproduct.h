#pragma once

#include <cstdint>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// A scalar function with its first two derivatives.
struct SmoothFunction {
  double (*value)(double);
  double (*first)(double);
  double (*second)(double);
};
/// exp and its derivatives.
[[nodiscard]] SmoothFunction exponential() noexcept;

enum class BoundaryOrder { kFirst, kSecond };

struct ParaproductOptions {
  /// Order of the approximation of differences along a single axis.
  BoundaryOrder boundary = BoundaryOrder::kFirst;
  /// [query, key], zero where an entry is absent; empty if all are present. With a mask, means are over present
  /// entries, the expansion is exact at present entries, and all matrices of Paraproduct are 0 at absent ones.
  std::span<const std::uint8_t> present = {};
};

/// A(f) decomposed by the scales of two trees, and its approximation from derivatives.
struct Paraproduct {
  DoubleMatrix target;        ///< A(f).
  DoubleMatrix telescoped;    ///< The sum of all exact differences: equal to `target` up to rounding.
  DoubleMatrix first_order;   ///< With A' alone.
  DoubleMatrix second_order;  ///< With A' and A'': the approximation.
};

/// Computes the tensor paraproduct of a matrix f [query, key] on trees of its rows and columns (OA, arXiv 2506.15541).
///
/// P_jk f is the mean of f over each product of a level-j row folder and a level-k column folder. Level 0 is the root;
/// at the last levels P f = f. With D, X and Y at (j, k)
///
///     D = P_{j+1,k+1} f - P_{j+1,k} f - P_{j,k+1} f + P_jk f,   X = P_{j+1,k} f - P_jk f,   Y = P_{j,k+1} f - P_jk f,
///
///     A(f) = A(P_00 f) + sum_j [A(P_{j+1,0} f) - A(P_{j,0} f)] + sum_k [A(P_{0,k+1} f) - A(P_{0,k} f)]
///          + sum_jk [A(P_{j+1,k+1} f) - A(P_{j+1,k} f) - A(P_{j,k+1} f) + A(P_jk f)]
///
/// exactly. The approximation replaces each mixed difference by A'(P_jk f) D + A''(P_jk f) X Y, and each difference d
/// along one axis by A'(P f) d, or by A'(P f) d + A''(P f) d^2 / 2 with `kSecond`. If f is Hoelder with exponent alpha
/// on the trees, the residual is Hoelder with exponent 2 alpha.
///
/// Terms are computed per folder: O(n m) evaluations of A and O(n m levels^2) additions, all in double.
///
/// \throws Error  kInvalidArgument if the size of a tree or of `present` does not match the matrix.
[[nodiscard]] Paraproduct paraproduct(const DoubleMatrix& f, const PartitionTree& rows, const PartitionTree& columns,
                                      const SmoothFunction& function = exponential(),
                                      const ParaproductOptions& options = {});

}  // namespace headscope
