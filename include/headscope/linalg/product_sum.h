#pragma once

#include <cstddef>
#include <functional>

#include "headscope/base/matrix.h"

namespace headscope {

/// out(i, j) = sum over b < batches and all k of A_b(i, k) B_b(j, k). All A_b have the same shape, and all B_b; every
/// view has a stride of 1 along rows or along columns. With `symmetric`, B_b must be A_b; half is computed and
/// mirrored.
///
/// Products in float by BLAS, sums over more than some 2000 terms in double, tiles of the result on several threads:
/// the result does not depend on their number. Cost: 2 * batches * rows_A * rows_B * columns flops, half of it if
/// symmetric.
[[nodiscard]] DoubleMatrix product_sum(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
                                       const std::function<MatrixView(std::size_t)>& b, bool symmetric);

}  // namespace headscope
