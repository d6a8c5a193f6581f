#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace headscope {

/// A contiguous stack of `count` column-major matrices of size `d x width`.
struct FactorStack {
  const float* values = nullptr;
  std::size_t count = 0;
  std::size_t width = 0;
  std::size_t d = 0;

  /// Returns `length` matrices starting at `first`.
  [[nodiscard]] FactorStack slice(std::size_t first, std::size_t length) const noexcept {
    return {values + first * width * d, length, width, d};
  }
};

/// Norms for all pairs of two stacks: out[i * out_stride + j] = ||A_i^T B_j||_F^2 for all matrices A_i of `a` and B_j
/// of `b`.
struct NormBlock {
  FactorStack a = {};
  FactorStack b = {};
  float* out = nullptr;
  std::size_t out_stride = 0;
};

/// Computes squared norms of products: the only expensive step of every affinity between heads.
class BlockNorms {
 public:
  virtual ~BlockNorms() = default;

  /// Computes all blocks, whose outputs must not overlap.
  ///
  /// The stacked products are computed in tiles, each reduced while it is in cache: the memory needed beyond the
  /// arguments is one tile per thread. A tile belongs to one block, and tile boundaries depend on that block alone, so
  /// the result does not depend, bit for bit, on the other blocks or on the number of threads. If `a` and `b` are the
  /// same stack, half of the block is computed and mirrored. Cost: 2 d (width count)_a (width count)_b flops per block.
  virtual void compute(std::span<const NormBlock> blocks) const = 0;

  /// Computes one block.
  void compute(const FactorStack& a, const FactorStack& b, float* out, std::size_t out_stride) const {
    const NormBlock block{a, b, out, out_stride};
    compute(std::span(&block, 1));
  }
};

/// The CPU implementation.
[[nodiscard]] std::unique_ptr<BlockNorms> cpu_block_norms();

}  // namespace headscope
