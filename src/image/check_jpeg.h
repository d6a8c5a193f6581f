#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace headscope {

/// What the frame header of a JPEG file says.
struct CheckedJpeg {
  std::size_t height = 0;
  std::size_t width = 0;
  /// Maximum size of any single allocation during decoding.
  std::size_t largest_allocation = 0;
};

/// Walks the segments of a JPEG file up to the end of its image. This detects truncated files: the decoder reads zeros
/// past the end and silently makes the lower part gray.
///
/// \throws Error  kFormat, kUnsupported as `decode_image`.
[[nodiscard]] CheckedJpeg check_jpeg(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels);

}  // namespace headscope
