#pragma once

#include <cstddef>
#include <string_view>

namespace headscope {

/// Rejects images without pixels and images too large to decode.
///
/// \throws Error  kFormat if a side is 0, kUnsupported if one is longer than
///                `kMaxImageSideLength` or there are more than `max_pixels`.
void check_image_size(std::size_t height, std::size_t width, std::string_view where, std::size_t max_pixels);

}  // namespace headscope
