#pragma once

#include <cstdint>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// A function of one number with its first two derivatives.
struct SmoothFunction {
  double (*value)(double);
  double (*first)(double);
  double (*second)(double);
};
/// exp, three times.
[[nodiscard]] SmoothFunction exponential() noexcept;

enum class BoundaryOrder { kFirst, kSecond };

struct ParaproductOptions {
  /// How differences along one axis alone are approximated.
  BoundaryOrder boundary = BoundaryOrder::kFirst;
  /// [query, key], zeros where an entry is absent; empty if none is. Means are then over what is present, the expansion
  /// stays exact there, and all of Paraproduct is 0 elsewhere.
  std::span<const std::uint8_t> present = {};
};

/// A(f) taken apart by the scales of two trees, and put together again from derivatives.
struct Paraproduct {
  DoubleMatrix target;        ///< A(f).
  DoubleMatrix telescoped;    ///< The sum of all exact differences: equal to `target` up to rounding.
  DoubleMatrix first_order;   ///< With A' alone.
  DoubleMatrix second_order;  ///< With A' and A'': the approximation.
};

/// The tensor paraproduct of a matrix f [query, key] on trees of its rows and columns (OA, arXiv 2506.15541).
///
/// P_jk f are the means of f over the folders of level j of the rows times those of level k of the columns, level 0 the
/// root; at the last levels P f = f. With D, X and Y at (j, k)
///
///     D = P_{j+1,k+1} f - P_{j+1,k} f - P_{j,k+1} f + P_jk f,   X = P_{j+1,k} f - P_jk f,   Y = P_{j,k+1} f - P_jk f,
///
///     A(f) = A(P_00 f) + sum_j [A(P_{j+1,0} f) - A(P_{j,0} f)] + sum_k [A(P_{0,k+1} f) - A(P_{0,k} f)]
///          + sum_jk [A(P_{j+1,k+1} f) - A(P_{j+1,k} f) - A(P_{j,k+1} f) + A(P_jk f)]
///
/// exactly. The approximation replaces each mixed difference by A'(P_jk f) D + A''(P_jk f) X Y, and each difference d
/// along one axis by A'(P f) d, or A'(P f) d + A''(P f) d^2 / 2 at `kSecond`. If f is Hoelder of exponent
/// alpha on the trees, what is left is Hoelder of 2 alpha.
///
/// Terms are computed folder by folder: O(n m) evaluations of A, O(n m levels^2) additions, all in double.
///
/// \throws Error  kInvalidArgument if a tree, or what is present, does not fit the matrix.
[[nodiscard]] Paraproduct paraproduct(const DoubleMatrix& f, const PartitionTree& rows, const PartitionTree& columns,
                                      const SmoothFunction& function = exponential(),
                                      const ParaproductOptions& options = {});

}  // namespace headscope
