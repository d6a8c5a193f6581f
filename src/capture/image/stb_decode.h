#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// What stb_image made of a file.
struct Decoded {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;             ///< 1 gray, 2 gray and alpha, 3 color, 4 color and alpha.
  std::vector<std::uint8_t> levels;     ///< [height, width, channels], of 8-bit files.
  std::vector<std::uint16_t> levels16;  ///< The same of 16-bit files, if asked for.
};

struct StbLimits {
  std::size_t largest_allocation = 0;  ///< In bytes; a request for more ends the decoding.
  bool sixteen_bits = false;           ///< Return `levels16`.
};

/// Decodes a PNG or JPEG file whose structure was checked before. `kind` is for the message.
///
/// \throws Error  kFormat with stb_image's reason.
[[nodiscard]] Decoded stb_decode(std::span<const std::byte> file, std::string_view kind, std::string_view where,
                                 const StbLimits& limits);

}  // namespace headscope
