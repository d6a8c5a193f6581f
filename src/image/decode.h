#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "headscope/image/image.h"

namespace headscope {

/// Decodes a PNG file with libpng. The result has 1 channel for gray and 3 for colors and palettes. All checksums but
/// those of auxiliary chunks must be right, all pixels and the end of the image must be there.
///
/// \throws Error  kFormat, kUnsupported as `decode_image`; kResource if there is no memory.
[[nodiscard]] Image decode_png(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels);

/// Decodes a JPEG file with libjpeg. The result has 1 or 3 channels, as the file. What libjpeg repairs with a warning,
/// such as missing data, is an error.
///
/// \throws Error  as `decode_png`.
[[nodiscard]] Image decode_jpeg(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels);

/// Rejects images without pixels and images too large to decode.
///
/// \throws Error  kFormat if a side is 0, kUnsupported if one is longer than
///                `kMaxImageSideLength` or there are more than `max_pixels`.
void check_image_size(std::size_t height, std::size_t width, std::string_view where, std::size_t max_pixels);

}  // namespace headscope
