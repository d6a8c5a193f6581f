#pragma once

#include "headscope/image/image.h"
#include "headscope/image/preprocess.h"

namespace headscope {

/// Resizes an image, level for level like PIL's `Image.resize`: when shrinking, the filter is as wide as the scale;
/// weights have 22 fractional bits; rows are rounded to 8 bits before the columns are resized.
[[nodiscard]] Image resample(const Image& image, const ImageSize& size, Resample filter);

}  // namespace headscope
