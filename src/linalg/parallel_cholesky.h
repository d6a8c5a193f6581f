#pragma once

#include <cstddef>

namespace headscope {

/// Factors A = R^T R with R upper triangular, in place, on all threads. The tiling depends only on n, and so does the
/// result, bit for bit. A is n x n and column-major; the part below the diagonal is not read and is undefined
/// afterwards. Returns false if A is not positive definite.
///
/// Cost: n^3 / 3 flops.
[[nodiscard]] bool parallel_cholesky(std::size_t n, double* a);

}  // namespace headscope
