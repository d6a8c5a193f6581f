#pragma once

#include <cstddef>

namespace headscope {

/// A = R^T R with R upper triangular, in place, by all threads: tiles are factored, solved and multiplied, and what
/// they are depends on n alone, so that the bits do too. A is n x n, column after column; what is below the diagonal is
/// not read, and is anything afterwards. False if A is not positive definite.
///
/// Cost: n^3 / 3 flops.
[[nodiscard]] bool parallel_cholesky(std::size_t n, double* a);

}  // namespace headscope
