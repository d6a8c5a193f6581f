#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace headscope {

/// What the frame header of a JPEG file says.
struct CheckedJpeg {
  std::size_t height = 0;
  std::size_t width = 0;
  /// No step of decoding needs more memory in one piece.
  std::size_t largest_allocation = 0;
};

/// Walks over the segments of a JPEG file up to the end of its image. The decoder reads
/// zeros where a file is cut off, so that its lower part would be gray without a word.
///
/// \throws Error  kFormat, kUnsupported as `decode_image`.
[[nodiscard]] CheckedJpeg check_jpeg(std::span<const std::byte> file, std::string_view where, std::size_t most_pixels);

}  // namespace headscope
