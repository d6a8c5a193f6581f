#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace headscope {

/// A stack of `count` matrices of `d x width`, column after column, matrix after matrix.
struct FactorStack {
  const float* values = nullptr;
  std::size_t count = 0;
  std::size_t width = 0;
  std::size_t d = 0;

  /// `length` matrices from `first` on.
  [[nodiscard]] FactorStack slice(std::size_t first, std::size_t length) const noexcept {
    return {values + first * width * d, length, width, d};
  }
};

/// One stack against another: out[i * out_stride + j] = ||A_i^T B_j||_F^2 for all matrices A_i of `a` and B_j of `b`.
struct NormBlock {
  FactorStack a = {};
  FactorStack b = {};
  float* out = nullptr;
  std::size_t out_stride = 0;
};

/// Computes squared norms of products: the one expensive step of every affinity
/// between heads.
class BlockNorms {
 public:
  virtual ~BlockNorms() = default;

  /// Computes all of the blocks, whose outputs do not overlap.
  ///
  /// The stacked products are computed in tiles, each reduced while it is in
  /// cache: memory beyond the arguments is a tile a thread. A tile belongs to one block, and where it is cut
  /// depends on that block alone: so do the bits of the result, not on the blocks beside it nor on the number of
  /// threads. Where `a` and `b` are the same stack, half of it is computed and mirrored. Cost: 2 d (width count)_a
  /// (width count)_b flops a block.
  virtual void compute(std::span<const NormBlock> blocks) const = 0;

  /// One block.
  void compute(const FactorStack& a, const FactorStack& b, float* out, std::size_t out_stride) const {
    const NormBlock block{a, b, out, out_stride};
    compute(std::span(&block, 1));
  }
};

/// On this machine's processors.
[[nodiscard]] std::unique_ptr<BlockNorms> cpu_block_norms();

}  // namespace headscope
