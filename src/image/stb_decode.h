#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// Result of stb_image.
struct Decoded {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;             ///< 1 gray, 2 gray and alpha, 3 color, 4 color and alpha.
  std::vector<std::uint8_t> levels;     ///< [height, width, channels], of 8-bit files.
  std::vector<std::uint16_t> levels16;  ///< Same for 16-bit files, if requested.
};

struct StbLimits {
  std::size_t largest_allocation = 0;  ///< Maximum allocation in bytes; a larger request ends decoding.
  bool sixteen_bits = false;           ///< Return `levels16`.
};

/// Decodes a PNG or JPEG file whose structure has been checked. `kind` is for error messages.
///
/// \throws Error  kFormat with stb_image's reason.
[[nodiscard]] Decoded stb_decode(std::span<const std::byte> file, std::string_view kind, std::string_view where,
                                 const StbLimits& limits);

}  // namespace headscope
