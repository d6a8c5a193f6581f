#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// A structurally valid PNG file, reduced to what its pixels need.
struct CheckedPng {
  std::size_t height = 0;
  std::size_t width = 0;
  bool gray16 = false;  ///< 16-bit gray without alpha, which PIL treats unlike all others.
  /// The same image as a header, a palette of 256 colors if it has one, and a single data chunk.
  std::vector<std::byte> file;
  /// Maximum size of any single allocation during decoding.
  std::size_t largest_allocation = 0;
};

/// Checks the order, lengths and checksums of the chunks. The decoder ignores checksums, so a damaged file would pass
/// as an image.
///
/// \throws Error  kFormat, kUnsupported as `decode_image`.
[[nodiscard]] CheckedPng check_png(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels);

}  // namespace headscope
