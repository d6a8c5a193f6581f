#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace headscope::cuda {

/// The product of some heads of one layer with some of another, column-major.
struct ProductTile {
  const float* values = nullptr;
  std::size_t rows = 0;  ///< Number of heads per side,
  std::size_t columns = 0;
  std::size_t row_width = 0;  ///< and width of each head.
  std::size_t column_width = 0;
};

/// Position of a tile within the block of two layers.
struct TilePlace {
  std::size_t row = 0;  ///< First head of the tile.
  std::size_t column = 0;
  std::size_t stride = 0;  ///< Row stride of the block.
  /// A layer with itself: pairs below the diagonal are not computed but mirrored.
  bool mirrored = false;
};

/// out[(row + i) * stride + column + j] = sum of squares of the tile's block (i, j).
///
/// Sums over up to 1 / 256 of a block are float; these are added in double.
void block_norms(const ProductTile& tile, const TilePlace& place, float* out, cudaStream_t stream);

}  // namespace headscope::cuda
