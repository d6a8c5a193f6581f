#pragma once

#include <vector>

#include "headscope/image/image.h"
#include "headscope/image/preprocess.h"

namespace headscope {

/// Resizes an image, level for level like PIL's `Image.resize`: when shrinking, the filter is as wide as the scale;
/// weights have 22 fractional bits; rows are rounded to 8 bits before the columns are resized.
[[nodiscard]] Image resample(const Image& image, const ImageSize& size, Resample filter);

/// The same without any rounding, like torchvision's `resize` of floats with antialiasing: [height, width, channels]
/// levels times `scale`. There is no kNearest.
[[nodiscard]] std::vector<float> resample_values(const Image& image, const ImageSize& size, Resample filter,
                                                 double scale);

}  // namespace headscope
