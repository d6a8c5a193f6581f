#pragma once

#include <compare>
#include <cstddef>

#include "headscope/image/pixels.h"
#include "headscope/model/network.h"

namespace headscope {

/// Number of patches of an image in either direction; 0 for text.
struct PatchGrid {
  std::size_t height = 0;
  std::size_t width = 0;

  [[nodiscard]] std::size_t size() const noexcept { return height * width; }
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm
  friend auto operator<=>(const PatchGrid&, const PatchGrid&) = default;
};

/// The extents of the convolution that makes patches.
struct PatchKernel {
  std::size_t channels = 0;
  std::size_t frames = 1;
  std::size_t height = 0;
  std::size_t width = 0;
};

[[nodiscard]] PatchKernel patch_kernel(const NetworkInput& in);

/// The grid of the tokens of an image; in a later stage of Swin a token is a square of patches.
[[nodiscard]] PatchGrid patch_grid(const NetworkInput& in, const Pixels& pixels);

/// Number of rows of a table, whose last axis is the stream; 0 if there is none.
[[nodiscard]] std::size_t rows_of(const StoredTensor* table);

/// Number of class tokens before the patches, without registers.
[[nodiscard]] std::size_t leading_tokens(const NetworkInput& in);

}  // namespace headscope
