#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "cuda/block_norm_kernel.h"

namespace headscope::cuda {

/// Products of two layers' factors by Strassen's rule (Numer. Math. 13, 1969), one level deep: seven products of half
/// the size in every direction instead of eight, that is 7/8 of the multiplications. With X(c, k) for half c of a
/// layer's heads and half k of the dimensions, and the norms of what two heads have in common wanted:
///
///   P0 = (A11 + A22)^T (B11 + B22)     A of the source, B of the target
///   P1 = (A21 + A22)^T  B11
///   P2 =  A11^T        (B21 - B22)     C11 = P0 + P3 - P4 + P6
///   P3 =  A22^T        (B12 - B11)     C12 = P2 + P4
///   P4 = (A11 + A12)^T  B22            C21 = P1 + P3
///   P5 = (A21 - A11)^T (B11 + B21)     C22 = P0 - P1 + P2 + P5
///   P6 = (A12 - A22)^T (B12 + B22)
///
/// Sums are rounded to TF32 once more. Columns of bases are all of length 1, so what the rounding of a head's partner
/// adds to each of its d h entries is as small as that of its own, 2^-12 / sqrt(d), and independent of it: the largest
/// error of a norm doubles, from 1e-5 to 2e-5 of p q / d. That is why bases have to have full rank: of two lines in
/// heads of width 128 the norm may be h^2 times smaller than that of two other heads, and would not be seen beside
/// their rounding.
inline constexpr std::size_t kHalfProducts = 7;

/// Sums that a side needs beside A11 and A22, in the order of the products above.
inline constexpr std::size_t kHalfSums = 5;

/// A layer's factors, d numbers a column; both even.
struct WholeFactors {
  const float* values = nullptr;
  std::size_t columns = 0;
  std::size_t d = 0;
};

/// The sums of one side, rounded to TF32: kHalfSums matrices of columns / 2 times d / 2 numbers to `out`.
void make_half_sums(const WholeFactors& factors, bool is_source, float* out, cudaStream_t stream);

/// One of the two factors of a product: the first number, and from one column to the next.
struct HalfFactor {
  const float* values = nullptr;
  std::size_t stride = 0;
};

/// What stands in P0 to P6.
[[nodiscard]] std::array<HalfFactor, kHalfProducts> half_factors(const WholeFactors& factors, const float* sums,
                                                                 bool is_source);

/// The norms of all four blocks that heads i and j of the tile's halves have part in. The tile's values are the seven
/// products one after another; `place` is that of C11, whose heads' partners are `rows` and `columns` farther.
void block_norms_of_halves(const ProductTile& tile, const TilePlace& place, std::size_t rows, std::size_t columns,
                           float* out, cudaStream_t stream);

}  // namespace headscope::cuda
