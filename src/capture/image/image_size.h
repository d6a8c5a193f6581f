#pragma once

#include <cstddef>
#include <string_view>

namespace headscope {

/// Rejects images without pixels and images too large to decode.
///
/// \throws Error  kFormat if a side is 0, kUnsupported if one is longer than
///                `kLongestImageSide` or there are more than `most_pixels`.
void check_image_size(std::size_t height, std::size_t width, std::string_view where, std::size_t most_pixels);

}  // namespace headscope
