#include "headscope/linalg/block_norms.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "linalg/lapack.h"
#include "linalg/sum_of_squares.h"

namespace headscope {
namespace {

// Side of a tile in columns. 384 x 384 floats fit in the second-level cache next to the panels of the product, and the
// product reaches full speed at this size.
constexpr std::size_t kTileColumns = 384;

// Splits a stack into tiles of whole matrices, all of nearly the same size.
class Tiling {
 public:
  explicit Tiling(const FactorStack& stack) : stack_(stack) {
    const std::size_t most = std::max<std::size_t>(1, kTileColumns / std::max<std::size_t>(1, stack.width));
    tiles_ = (stack.count + most - 1) / most;
  }
  [[nodiscard]] std::size_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::size_t begin(std::size_t tile) const noexcept { return tile * stack_.count / tiles_; }
  [[nodiscard]] FactorStack stack(std::size_t tile) const noexcept {
    return stack_.slice(begin(tile), begin(tile + 1) - begin(tile));
  }

 private:
  FactorStack stack_;
  std::size_t tiles_ = 0;
};

bool is_symmetric(const NormBlock& block) {
  return block.a.values == block.b.values && block.a.count == block.b.count && block.a.width == block.b.width;
}

void mirror(const NormBlock& block) {
  for (std::size_t i = 0; i < block.a.count; ++i) {
    for (std::size_t j = 0; j < i; ++j) block.out[i * block.out_stride + j] = block.out[j * block.out_stride + i];
  }
}

class CpuBlockNorms final : public BlockNorms {
 public:
  using BlockNorms::compute;

  void compute(std::span<const NormBlock> blocks) const override {
    std::vector<Tile> tiles;
    for (const NormBlock& block : blocks) add_tiles(block, tiles);
    parallel_for(tiles.size(),
                 [&](std::size_t i) { compute_tile(tiles[i].a, tiles[i].b, tiles[i].out, tiles[i].out_stride); });
    for (const NormBlock& block : blocks) {
      if (is_symmetric(block)) mirror(block);
    }
  }

 private:
  using Tile = NormBlock;

  static void add_tiles(const NormBlock& block, std::vector<Tile>& tiles) {
    assert(block.a.d == block.b.d);
    const Tiling rows(block.a);
    const Tiling columns(block.b);
    for (std::size_t row = 0; row < rows.tiles(); ++row) {
      for (std::size_t column = is_symmetric(block) ? row : 0; column < columns.tiles(); ++column) {
        tiles.push_back({rows.stack(row), columns.stack(column),
                         block.out + rows.begin(row) * block.out_stride + columns.begin(column), block.out_stride});
      }
    }
  }

  static void compute_tile(const FactorStack& a, const FactorStack& b, float* out, std::size_t out_stride) {
    const std::size_t m = a.count * a.width;
    const std::size_t n = b.count * b.width;
    thread_local Buffer<float> product;
    if (product.size() < m * n) product = Buffer<float>(m * n);
    lapack::gemm(true, false, m, n, a.d, 1.0F, a.values, a.d, b.values, b.d, 0.0F, product.data(), m);
    for (std::size_t i = 0; i < a.count; ++i) {
      for (std::size_t j = 0; j < b.count; ++j) {
        const float* block = product.data() + i * a.width + j * b.width * m;
        out[i * out_stride + j] = static_cast<float>(sum_of_squares(block, a.width, b.width, m));
      }
    }
  }
};

}  // namespace

std::unique_ptr<BlockNorms> cpu_block_norms() {
  return std::make_unique<CpuBlockNorms>();
}

}  // namespace headscope
