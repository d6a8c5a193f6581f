#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// A picture of 8-bit levels: rows from the top, `channels` values a pixel beside each other.
struct Image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;          ///< 3 for red, green, blue; 1 for gray.
  std::vector<std::uint8_t> levels;  ///< [height, width, channels].
};

struct ImageOptions {
  /// 3 or 1, what the model takes. Colors become gray as in PIL's mode "L":
  /// (19595 R + 38470 G + 7471 B + 2^15) / 2^16, rounded down.
  std::size_t channels = 3;
  /// Larger pictures are refused before anything is decoded.
  std::size_t most_pixels = 64 * 1024 * 1024;
};

/// Neither side of a picture may be longer; JPEG has no room for more.
inline constexpr std::size_t kLongestImageSide = 65535;

/// Decodes a PNG or JPEG file as PIL's `Image.open(f).convert("RGB")` does, or `convert("L")`
/// for one channel:
///
///  - alpha and transparent colors are dropped, not blended;
///  - palettes are looked up, an index beyond the palette is black;
///  - gray of 1, 2 or 4 bits is spread over 0 to 255;
///  - colors of 16 bits lose their low byte;
///  - gray of 16 bits is clipped at 255 and not scaled, so most of such pictures turn white.
///    Scale them to 8 bits first;
///  - an orientation that a camera wrote as EXIF is not applied. Neither PIL nor
///    the image processors of transformers do. Color profiles and gamma are not applied either.
///
/// PNG agrees with PIL to the last bit. JPEG decoders round differently: this one (stb_image)
/// and PIL's (libjpeg-turbo) were at most 5 levels apart, and 0.2 on average.
/// Of an animated PNG this is the still image.
///
/// `where` begins the message of every error.
///
/// Cost: one pass; memory of a few times [height, width, 4] bytes, whatever the file claims.
///
/// \throws Error  kFormat if the bytes are neither PNG nor JPEG, or damaged or truncated;
///                kUnsupported for other kinds of pictures (GIF, WebP, ...), more pixels than
///                `options` allow, and JPEG with 4 channels, 12 bits or arithmetic coding;
///                kInvalidArgument if `options.channels` is neither 1 nor 3.
[[nodiscard]] Image decode_image(std::span<const std::byte> file, std::string_view where,
                                 const ImageOptions& options = {});

/// \throws Error  as `decode_image`, and kIo if the file cannot be read.
[[nodiscard]] Image open_image(const std::filesystem::path& path, const ImageOptions& options = {});

}  // namespace headscope
