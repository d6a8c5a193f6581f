#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace headscope::cuda {

/// A product of some heads of one layer and some of another, column after column.
struct ProductTile {
  const float* values = nullptr;
  std::size_t rows = 0;  ///< Heads, ...
  std::size_t columns = 0;
  std::size_t row_width = 0;  ///< ... and what each has.
  std::size_t column_width = 0;
};

/// Where a tile lies in the block of two layers.
struct TilePlace {
  std::size_t row = 0;  ///< Its first head.
  std::size_t column = 0;
  std::size_t stride = 0;  ///< Of the block's rows.
  /// The layer with itself: pairs below the diagonal are left out and written as mirror images.
  bool mirrored = false;
};

/// out[(row + i) * stride + column + j] = sum of squares of the tile's block (i, j).
///
/// Sums of up to 1 / 256 of a block are float, sums of these double.
void block_norms(const ProductTile& tile, const TilePlace& place, float* out, cudaStream_t stream);

}  // namespace headscope::cuda
