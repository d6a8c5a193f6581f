#include "linalg/parallel_cholesky.h"

#include <algorithm>

#include "headscope/base/parallel.h"
#include "linalg/lapack.h"

namespace headscope {

bool parallel_cholesky(std::size_t n, double* a) {
  constexpr std::size_t kTile = 192;
  const std::size_t tiles = (n + kTile - 1) / kTile;
  const auto width = [&](std::size_t i) { return std::min(kTile, n - i * kTile); };
  const auto tile = [&](std::size_t i, std::size_t j) { return a + i * kTile + j * kTile * n; };
  for (std::size_t k = 0; k < tiles; ++k) {
    if (!lapack::cholesky_upper(width(k), tile(k, k), n)) return false;
    const std::size_t rest = tiles - k - 1;
    parallel_for(rest, [&](std::size_t i) {
      const std::size_t j = k + 1 + i;
      lapack::solve_left_upper_transposed(width(k), width(j), tile(k, k), n, tile(k, j), n);
    });
    parallel_for(rest * rest, [&](std::size_t index) {
      const std::size_t i = k + 1 + index / rest;
      const std::size_t j = k + 1 + index % rest;
      if (i > j) return;
      lapack::gemm(true, false, width(i), width(j), width(k), -1.0, tile(k, i), n, tile(k, j), n, 1.0, tile(i, j), n);
    });
  }
  return true;
}

}  // namespace headscope
