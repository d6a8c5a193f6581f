#include "forward/embed_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "forward/interpolate.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

[[noreturn]] void refuse(std::size_t index, const std::string& why) {
  throw Error(ErrorKind::kFormat, fmt::format("input {}: {}", index, why));
}

// One row per patch: its pixels, channel by channel, in the order of the convolution's weights, or pixel by pixel.
Matrix unfold(const Pixels& pixels, const PatchKernel& kernel, const PatchGrid& grid, bool by_pixel) {
  const std::size_t height = kernel.height;
  const std::size_t width = kernel.width;
  Matrix patches(grid.size(), kernel.channels * height * width);
  for (std::size_t p = 0; p < grid.size(); ++p) {
    auto out = patches.row(p).begin();
    for (std::size_t c = 0; c < kernel.channels; ++c) {
      for (std::size_t y = 0; y < height; ++y) {
        const std::size_t line = (c * pixels.height + p / grid.width * height + y) * pixels.width;
        const auto begin = pixels.values.begin() + static_cast<std::ptrdiff_t>(line + p % grid.width * width);
        if (!by_pixel) out = std::copy_n(begin, width, out);
        for (std::size_t x = 0; by_pixel && x < width; ++x) {
          patches(p, (y * width + x) * kernel.channels + c) = *(begin + static_cast<std::ptrdiff_t>(x));
        }
      }
    }
  }
  return patches;
}

// An image is as many equal frames as the kernel has: its weights add up. Returns nothing for one frame.
std::vector<float> over_frames(std::span<const float> weights, const PatchKernel& kernel, std::size_t d) {
  if (kernel.frames == 1) return {};
  const std::size_t patch = kernel.height * kernel.width;
  std::vector<float> summed(d * kernel.channels * patch);
  for (std::size_t i = 0; i < d * kernel.channels; ++i) {
    for (std::size_t frame = 0; frame < kernel.frames; ++frame) {
      const std::span<const float> from = weights.subspan((i * kernel.frames + frame) * patch, patch);
      add_scaled(from, {}, std::span(summed).subspan(i * patch, patch));
    }
  }
  return summed;
}

// Interpolates a square of positions linearly; its corners are those of the image.
std::vector<float> between_corners(std::span<const float> square, std::size_t side, std::size_t d,
                                   const PatchGrid& grid) {
  struct Place {
    std::size_t first;
    std::size_t second;
    float share;  // of the second
  };
  const auto place = [&](std::size_t i, std::size_t count) {
    const float at =
        count < 2 ? 0.0F : static_cast<float>(i) * (static_cast<float>(side - 1) / static_cast<float>(count - 1));
    const auto first = std::min(static_cast<std::size_t>(at), side - 1);
    return Place{first, std::min(first + 1, side - 1), at - static_cast<float>(first)};
  };
  std::vector<float> result(grid.size() * d);
  for (std::size_t p = 0; p < grid.size(); ++p) {
    const Place row = place(p / grid.width, grid.height);
    const Place column = place(p % grid.width, grid.width);
    const auto at = [&](std::size_t y, std::size_t x, std::size_t j) { return square[(y * side + x) * d + j]; };
    for (std::size_t j = 0; j < d; ++j) {
      const float above =
          at(row.first, column.first, j) * (1 - column.share) + at(row.first, column.second, j) * column.share;
      const float below =
          at(row.second, column.first, j) * (1 - column.share) + at(row.second, column.second, j) * column.share;
      result[p * d + j] = above * (1 - row.share) + below * row.share;
    }
  }
  return result;
}

// Returns the table of positions for this image, class tokens first. DINOv2 interpolates the square it was trained on.
std::vector<float> image_positions(const Model& model, const NetworkInput& in, const PatchGrid& grid, std::size_t d) {
  std::vector<float> table = read_vector(model.checkpoint(), *in.positions);
  const std::size_t leading = leading_tokens(in);
  const std::size_t patches = table.size() / d - leading;
  if (!in.interpolate) return table;
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(patches)));
  // The same number of patches in another shape, e.g. 2 x 8 for 4 x 4, is interpolated too.
  if (side == grid.height && side == grid.width) return table;
  if (side * side != patches) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} position embeddings do not form a square grid, so they cannot be interpolated",
                            model.checkpoint().path().string(), patches));
  }
  const std::span<const float> square = std::span(table).subspan(leading * d);
  if (in.between_corners) return between_corners(square, side, d, grid);
  const auto resize = in.patch_side > 0 ? interpolate_averaging : interpolate_bicubic;
  const std::vector<float> stretched = resize(square, side, side, d, grid.height, grid.width);
  table.resize(leading * d);
  table.insert(table.end(), stretched.begin(), stretched.end());
  return table;
}

}  // namespace

std::size_t image_tokens(const NetworkInput& in, const Pixels& pixels, std::size_t index) {
  const PatchKernel kernel = patch_kernel(in);
  if (pixels.values.empty()) refuse(index, "the model takes images, but this input has no pixels");
  if (pixels.channels != kernel.channels) {
    refuse(index, fmt::format("the image has {} channels, but the model expects {}", pixels.channels, kernel.channels));
  }
  const bool other_size = in.image_height > 0 && (pixels.height != in.image_height || pixels.width != in.image_width);
  if (other_size && !in.interpolate) {
    refuse(index, fmt::format("the image is {} x {}, but the model expects {} x {}", pixels.height, pixels.width,
                              in.image_height, in.image_width));
  }
  if (element_count(Shape{pixels.channels, pixels.height, pixels.width}) != pixels.values.size()) {
    refuse(index, fmt::format("{} values for an image of {} channels of {} x {}", pixels.values.size(), pixels.channels,
                              pixels.height, pixels.width));
  }
  const PatchGrid grid = patch_grid(in, pixels);
  if (grid.size() == 0) {
    refuse(index, fmt::format("the image is {} x {}, smaller than a patch of {} x {}", pixels.height, pixels.width,
                              kernel.height, kernel.width));
  }
  const bool merges = pixels.height / kernel.height % in.merged == 0 && pixels.width / kernel.width % in.merged == 0;
  if (!merges || grid.height % in.multiple != 0 || grid.width % in.multiple != 0) {
    refuse(index,
           fmt::format("the image is {} x {}, but this stage of the model takes multiples of {} x {}", pixels.height,
                       pixels.width, kernel.height * in.merged * in.multiple, kernel.width * in.merged * in.multiple));
  }
  const std::size_t leading = leading_tokens(in);
  const std::size_t positions = rows_of(in.positions);
  const bool fits = in.positions == nullptr ? true
                    : in.interpolate        ? positions > leading
                                            : positions == grid.size() + leading || positions == grid.size();
  if (!fits) {
    refuse(index, fmt::format("the image has {} patches, but the model has positions for {}", grid.size(),
                              positions - std::min(positions, leading)));
  }
  return leading + rows_of(in.registers) + grid.size();
}

void embed_image(const Model& model, const NetworkInput& in, const Pixels& pixels, MatrixSpan stream) {
  const std::size_t d = stream.columns();
  const PatchGrid grid = patch_grid(in, pixels);
  const std::size_t leading = leading_tokens(in);
  const std::size_t registers = rows_of(in.registers);
  std::size_t next = 0;
  const auto append = [&](const StoredTensor& tokens) {
    const std::vector<float> values = read_vector(model.checkpoint(), tokens);
    for (std::size_t i = 0; i < values.size() / d; ++i) {
      std::ranges::copy(std::span(values).subspan(i * d, d), stream.row(next++).begin());
    }
  };
  for (const StoredTensor* token : in.leading) append(*token);
  if (in.registers != nullptr) append(*in.registers);

  const MatrixSpan patch_rows = stream.block(next, grid.size(), 0, d);
  const Matrix patches = unfold(pixels, patch_kernel(in), grid, in.patch_side > 0);
  Buffer<float> scratch;
  const std::span<const float> weights = read_weights(model.checkpoint(), *in.patches.weight, scratch);
  const std::vector<float> summed = over_frames(weights, patch_kernel(in), d);
  const float* values = summed.empty() ? weights.data() : summed.data();
  const MatrixView kernel(values, d, patches.columns(), patches.columns());
  parallel_multiply(patches.view(), kernel.transposed(), patch_rows);
  if (in.patches.bias != nullptr) {
    const std::vector<float> bias = read_vector(model.checkpoint(), *in.patches.bias);
    for (std::size_t i = 0; i < grid.size(); ++i) add_scaled(bias, {}, patch_rows.row(i));
  }

  const std::optional<Norm> norm = load_norm(model.checkpoint(), in.norm);
  if (norm && in.norm_first) norm->apply(stream.view(), stream);
  if (in.positions == nullptr) return;
  const std::vector<float> positions = image_positions(model, in, grid, d);
  // In some timm models the class tokens have no position.
  const std::size_t first = !in.interpolate && positions.size() / d == grid.size() ? leading : 0;
  for (std::size_t i = 0; i < positions.size() / d; ++i) {
    const std::size_t token = i + first;
    add_scaled(std::span(positions).subspan(i * d, d), {}, stream.row(token < leading ? token : token + registers));
  }
}

}  // namespace headscope
