#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace headscope {

/// What a vision model takes: one image as normalized numbers.
struct Pixels {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<float> values;  ///< [channels, height, width].
};

/// Reads images that are already normalized from an npy file of floats (16, 32 or 64 bits; the
/// last are rounded): one as [channels, height, width], several as [images, channels,
/// height, width]. Where `channels` is 1, [height, width] is one image too.
///
/// Cost: one pass; holds the values once as floats, and once more as they are split.
///
/// \throws Error  kIo if the file cannot be read, kFormat as `parse_npy`;
///                kUnsupported for anything but floats: levels from 0 to 255 are not
///                what a model takes; kInvalidArgument if the shape is another one, or
///                empty; kNumeric for a NaN or an infinity, named with its image.
[[nodiscard]] std::vector<Pixels> read_pixels(const std::filesystem::path& path, std::size_t channels);

}  // namespace headscope
