#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// A PNG file whose structure is sound, reduced to what its pixels need.
struct CheckedPng {
  std::size_t height = 0;
  std::size_t width = 0;
  bool gray16 = false;  ///< Gray of 16 bits without alpha, which PIL treats unlike all others.
  /// The same picture as header, palette of 256 colors if it has one, and data in one piece.
  std::vector<std::byte> file;
  /// No step of decoding needs more memory in one piece.
  std::size_t largest_allocation = 0;
};

/// Checks the order, the lengths and the checksums of the chunks. The decoder
/// checks none of the latter, so that a damaged file would pass as a picture.
///
/// \throws Error  kFormat, kUnsupported as `decode_image`.
[[nodiscard]] CheckedPng check_png(std::span<const std::byte> file, std::string_view where, std::size_t most_pixels);

}  // namespace headscope
