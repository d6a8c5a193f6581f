#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// An image of 8-bit levels: rows from top to bottom, `channels` interleaved values per pixel.
struct Image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;          ///< 3 for red, green, blue; 1 for gray.
  std::vector<std::uint8_t> levels;  ///< [height, width, channels].
};

struct ImageOptions {
  /// Number of channels the model takes, 3 or 1. Colors are converted to gray as in PIL's mode "L":
  /// (19595 R + 38470 G + 7471 B + 2^15) / 2^16, rounded down.
  std::size_t channels = 3;
  /// Larger images are rejected before anything is decoded.
  std::size_t max_pixels = 64 * 1024 * 1024;
};

/// Maximum length of either side of an image; for JPEG it is 65500.
inline constexpr std::size_t kMaxImageSideLength = 65535;

/// Decodes a PNG or JPEG file like PIL's `Image.open(f).convert("RGB")`, or `convert("L")` for one channel:
///
///  - alpha and transparent colors are dropped, not blended;
///  - palettes are looked up; an index beyond the palette is black;
///  - 1-, 2- and 4-bit gray is scaled to 0 to 255;
///  - 16-bit colors lose their low byte;
///  - 16-bit gray is clipped at 255 and not scaled, so most such images turn white. Scale them to 8 bits first;
///  - an EXIF orientation is not applied. Neither PIL nor the image processors of transformers apply it. Color profiles
///    and gamma are not applied either.
///
/// The result equals PIL's to the last bit if libjpeg is libjpeg-turbo, which PIL contains. For an animated PNG the
/// still image is returned.
///
/// Every error message starts with `where`.
///
/// Cost: one pass, for JPEG one per scan (at most 200); memory of about [height, width, 9] bytes at most, whatever
/// the file claims.
///
/// \throws Error  kFormat if the bytes are neither PNG nor JPEG, or damaged or truncated; kUnsupported for other image
///                formats (GIF, WebP, ...), more pixels than `options` allow, and JPEG with 4 channels, 12 bits or
///                arithmetic coding; kInvalidArgument if `options.channels` is neither 1 nor 3.
[[nodiscard]] Image decode_image(std::span<const std::byte> file, std::string_view where,
                                 const ImageOptions& options = {});

/// Returns an image of 1 or 3 channels with the other number of them: colors as `ImageOptions::channels` says, gray as
/// three equal channels.
[[nodiscard]] Image with_channels(Image image, std::size_t channels);

/// \throws Error  as `decode_image`, and kIo if the file cannot be read.
[[nodiscard]] Image open_image(const std::filesystem::path& path, const ImageOptions& options = {});

}  // namespace headscope
