#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace headscope {

/// Input of a vision model: one image as normalized values.
struct Pixels {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<float> values;  ///< [channels, height, width].
};

/// Reads images that are already normalized from an npy file of floats (16, 32 or 64 bits; 64-bit values are rounded):
/// one image as [channels, height, width], several as [images, channels, height, width]. If `channels` is 1, [height,
/// width] is one image too.
///
/// Cost: one pass; holds the values as floats, and a second copy while they are split into images.
///
/// \throws Error  kIo if the file cannot be read, kFormat as `parse_npy`; kUnsupported for anything but floats, since
///                models do not take levels from 0 to 255; kInvalidArgument if the shape is different or empty;
///                kNumeric for a NaN or an infinity; the message says in which image.
[[nodiscard]] std::vector<Pixels> read_pixels(const std::filesystem::path& path, std::size_t channels);

}  // namespace headscope
