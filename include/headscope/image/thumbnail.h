#pragma once

#include <cstddef>

#include "headscope/image/image.h"
#include "headscope/image/pixels.h"
#include "headscope/image/preprocess.h"

namespace headscope {

/// Maximum length of a side of a thumbnail, in pixels.
inline constexpr std::size_t kThumbnailSide = 320;

/// Returns what a model sees as a color image: the top left `covered` pixels, with the normalization undone, reduced so
/// that neither side is longer than `kThumbnailSide`. Gray images get three equal channels. Levels are rounded and
/// clipped to 0 .. 255.
///
/// \throws Error  kInvalidArgument if `covered` is empty or exceeds the pixels, or if the preprocessing is for another
///                number of channels.
[[nodiscard]] Image make_thumbnail(const Pixels& pixels, ImageSize covered, const Preprocessing& preprocessing);

}  // namespace headscope
