#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Resizes a grid [height, width, channels] to [new_height, new_width, channels] by cubic convolution (a = -0.75, pixel
/// centers at half integers, edges repeated), like torch.nn.functional.interpolate with mode="bicubic" and
/// align_corners=False.
[[nodiscard]] std::vector<float> interpolate_bicubic(std::span<const float> grid, std::size_t height, std::size_t width,
                                                     std::size_t channels, std::size_t new_height,
                                                     std::size_t new_width);

/// The same, linearly; where the new grid is coarser, averaging over the width of its cells, like torch with
/// mode="bilinear", align_corners=False and antialias=True.
[[nodiscard]] std::vector<float> interpolate_averaging(std::span<const float> grid, std::size_t height,
                                                       std::size_t width, std::size_t channels, std::size_t new_height,
                                                       std::size_t new_width);

}  // namespace headscope
