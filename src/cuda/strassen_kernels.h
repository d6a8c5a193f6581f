#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "cuda/block_norm_kernel.h"

namespace headscope::cuda {

/// Products of two layers' factors by Strassen's algorithm (Numer. Math. 13, 1969), one level deep: seven products of
/// half the size in every direction instead of eight, that is 7/8 of the multiplications. X(c, k) is half c of a
/// layer's heads and half k of the dimensions. The norms of the blocks of C are computed from:
///
///   P0 = (A11 + A22)^T (B11 + B22)     A: source, B: target
///   P1 = (A21 + A22)^T  B11
///   P2 =  A11^T        (B21 - B22)     C11 = P0 + P3 - P4 + P6
///   P3 =  A22^T        (B12 - B11)     C12 = P2 + P4
///   P4 = (A11 + A12)^T  B22            C21 = P1 + P3
///   P5 = (A21 - A11)^T (B11 + B21)     C22 = P0 - P1 + P2 + P5
///   P6 = (A12 - A22)^T (B12 + B22)
///
/// Sums are rounded to TF32 once more. All columns of a basis have length 1, so the rounding of the other half's head
/// adds to each of a head's d h entries an error as small as its own, 2^-12 / sqrt(d), and independent of it: the
/// maximum error of a norm doubles, from 1e-5 to 2e-5 of p q / d. This requires bases of full rank: the norm of two
/// heads of width h = 128 and rank 1 may be h^2 times smaller than that of two other heads, and would be lost in their
/// rounding error.
inline constexpr std::size_t kHalfProducts = 7;

/// Number of sums per side, besides A11 and A22; stored in the order of the products above.
inline constexpr std::size_t kHalfSums = 5;

/// Factors of a layer: `columns` (even) columns of d (a multiple of 8) numbers.
struct WholeFactors {
  const float* values = nullptr;
  std::size_t columns = 0;
  std::size_t d = 0;
};

/// Computes the sums of one side, rounded to TF32: kHalfSums matrices of columns / 2 times d / 2 numbers, written to
/// `out`.
void make_half_sums(const WholeFactors& factors, bool is_source, float* out, cudaStream_t stream);

/// One of the two factors of a product: pointer to the first number, and column stride.
struct HalfFactor {
  const float* values = nullptr;
  std::size_t stride = 0;
};

/// Returns the factors of P0 to P6 for one side.
[[nodiscard]] std::array<HalfFactor, kHalfProducts> half_factors(const WholeFactors& factors, const float* sums,
                                                                 bool is_source);

/// Computes the norms of the four blocks that each pair of heads (i, j) of the tile's halves contributes to. The tile
/// holds the seven products one after another; `place` is its position in C11, and the heads of the other half are
/// `rows` and `columns` farther.
void block_norms_of_halves(const ProductTile& tile, const TilePlace& place, std::size_t rows, std::size_t columns,
                           float* out, cudaStream_t stream);

}  // namespace headscope::cuda
