#pragma once

#include "headscope/capture/image.h"
#include "headscope/capture/preprocess.h"

namespace headscope {

/// The image at another size, level by level what PIL's `Image.resize` gives: the filter is
/// as wide as the scale when it shrinks, weights have 22 fractional bits, and the rows are rounded to 8 bits before
/// the columns are done.
[[nodiscard]] Image resample(const Image& image, const ImageSize& size, Resample filter);

}  // namespace headscope
