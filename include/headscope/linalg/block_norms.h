#pragma once

#include <cstddef>
#include <memory>

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

/// Computes squared norms of products: the one expensive step of every affinity
/// between heads. The CPU implements it here; a device implements the same.
class BlockNorms {
 public:
  virtual ~BlockNorms() = default;

  /// out[i * out_stride + j] = ||A_i^T B_j||_F^2 for all matrices A_i of `a` and B_j of `b`.
  ///
  /// The stacked product is computed in tiles, each reduced while it is in
  /// cache: memory beyond the arguments is a tile a thread. Where `a` and `b`
  /// are the same stack, half of it is computed and mirrored. The result does
  /// not depend on the number of threads. Cost: 2 d (width count)_a (width count)_b flops.
  virtual void compute(const FactorStack& a, const FactorStack& b, float* out, std::size_t out_stride) const = 0;
};

/// On this machine's processors.
[[nodiscard]] std::unique_ptr<BlockNorms> cpu_block_norms();

}  // namespace headscope
