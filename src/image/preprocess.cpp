#include "headscope/image/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "headscope/base/error.h"
#include "image/resample.h"

namespace headscope {
namespace {

// Limit for a resized image. Aspect ratios up to 1 to 65535 are possible, so a short edge of 224 bounds nothing.
constexpr double kMaxPixels = 64.0 * 1024 * 1024;

void check(const Image& image, const Preprocessing& preprocessing, std::string_view where) {
  if (image.channels != preprocessing.channels) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: the image has {} channels, expected {} for this model",
                                                         where, image.channels, preprocessing.channels));
  }
  const std::size_t statistics = preprocessing.mean.size();
  if ((statistics != 0 && statistics != image.channels) || preprocessing.std.size() != statistics) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} means and {} standard deviations for {} channels, expected one per channel", where,
                            statistics, preprocessing.std.size(), image.channels));
  }
}

// The largest factor on the sides of an image that gives at most that many patches, found by bisection as in
// transformers; the sides are then rounded up to whole patches.
std::pair<double, double> within_patches(double height, double width, const Preprocessing& preprocessing) {
  constexpr double kPrecision = 1e-5;
  const auto scaled = [](double length, std::size_t patch, double factor) {
    const auto step = static_cast<double>(patch);
    return std::max(step, std::ceil(length * factor / step) * step);
  };
  const ImageSize& patch = preprocessing.patch;
  double least = kPrecision / 10;
  double most = 100;
  while (most - least >= kPrecision) {
    const double factor = (least + most) / 2;
    const double patches = scaled(height, patch.height, factor) / static_cast<double>(patch.height) *
                           (scaled(width, patch.width, factor) / static_cast<double>(patch.width));
    (patches <= static_cast<double>(preprocessing.max_patches) ? least : most) = factor;
  }
  return {scaled(height, patch.height, least), scaled(width, patch.width, least)};
}

ImageSize resized(const ImageSize& from, const Preprocessing& preprocessing, std::string_view where) {
  const ImageSize& size = preprocessing.size;
  const auto height = static_cast<double>(from.height);
  const auto width = static_cast<double>(from.width);
  double new_height = height;
  double new_width = width;
  if (preprocessing.resize == ResizeTo::kSize) {
    new_height = static_cast<double>(size.height);
    new_width = static_cast<double>(size.width);
  } else if (preprocessing.resize == ResizeTo::kShortestEdge) {
    const auto edge = static_cast<double>(size.height);
    new_height = width <= height ? std::floor(edge * height / width) : edge;
    new_width = width <= height ? edge : std::floor(edge * width / height);
  } else if (preprocessing.resize == ResizeTo::kWithin) {
    const ImageSize& patch = preprocessing.patch;
    const double ratio = std::max(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
    const auto fitted = [&](double length, std::size_t step) {
      const double shrunk = ratio > 1 ? std::floor(length / ratio) : length;
      return std::ceil(shrunk / static_cast<double>(step)) * static_cast<double>(step);
    };
    new_height = fitted(height, patch.height);
    new_width = fitted(width, patch.width);
  } else if (preprocessing.resize == ResizeTo::kArea) {
    const auto step = static_cast<double>(preprocessing.patch.height);
    const auto most = static_cast<double>(preprocessing.max_pixels);
    const auto least = static_cast<double>(preprocessing.min_pixels);
    new_height = std::nearbyint(height / step) * step;
    new_width = std::nearbyint(width / step) * step;
    if (new_height * new_width > most) {
      const double shrink = std::sqrt(height * width / most);
      new_height = std::max(step, std::floor(height / shrink / step) * step);
      new_width = std::max(step, std::floor(width / shrink / step) * step);
    } else if (new_height * new_width < least) {
      const double grow = std::sqrt(least / (height * width));
      new_height = std::ceil(height * grow / step) * step;
      new_width = std::ceil(width * grow / step) * step;
    }
  } else if (preprocessing.resize == ResizeTo::kPatches) {
    std::tie(new_height, new_width) = within_patches(height, width, preprocessing);
  } else if (preprocessing.resize == ResizeTo::kCover) {
    const double ratio = std::min(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
    new_height = std::nearbyint(height / ratio);
    new_width = std::nearbyint(width / ratio);
  }
  if (new_height < 1 || new_width < 1 || new_height * new_width > kMaxPixels) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: is {} pixels high and {} wide and would be resized to {} x {}, expected 1 to {} pixels", where,
                    from.height, from.width, new_height, new_width, kMaxPixels));
  }
  return {static_cast<std::size_t>(new_height), static_cast<std::size_t>(new_width)};
}

// Returns where the crop starts; negative if black is added.
std::ptrdiff_t crop_begin(std::size_t length, std::size_t crop, bool to_even) {
  const auto spare = static_cast<std::ptrdiff_t>(length) - static_cast<std::ptrdiff_t>(crop);
  const std::ptrdiff_t down = spare >> 1;
  if (spare % 2 == 0 || !to_even) return down;
  return spare < 0 || down % 2 != 0 ? down + 1 : down;
}

// Maps levels to values, with the steps and the precision of transformers.
std::array<float, 256> values_of_levels(const Preprocessing& preprocessing, std::size_t channel) {
  std::array<float, 256> values{};
  for (std::size_t level = 0; level < values.size(); ++level) {
    values[level] = static_cast<float>(static_cast<double>(level) * preprocessing.scale);
    if (!preprocessing.mean.empty()) {
      values[level] = (values[level] - preprocessing.mean[channel]) / preprocessing.std[channel];
    }
  }
  return values;
}

struct Cut {
  std::ptrdiff_t top = 0;
  std::ptrdiff_t left = 0;
  ImageSize size;
};

Pixels to_pixels(const Image& image, const Cut& cut, const Preprocessing& preprocessing) {
  Pixels pixels{image.channels, cut.size.height, cut.size.width, {}};
  pixels.values.reserve(pixels.channels * pixels.height * pixels.width);
  const auto inside = [](std::ptrdiff_t at, std::size_t length) {
    return at >= 0 && at < static_cast<std::ptrdiff_t>(length);
  };
  for (std::size_t c = 0; c < image.channels; ++c) {
    const std::array<float, 256> values = values_of_levels(preprocessing, c);
    for (std::size_t i = 0; i < pixels.height; ++i) {
      const std::ptrdiff_t y = cut.top + static_cast<std::ptrdiff_t>(i);
      for (std::size_t j = 0; j < pixels.width; ++j) {
        const std::ptrdiff_t x = cut.left + static_cast<std::ptrdiff_t>(j);
        const bool black = !inside(y, image.height) || !inside(x, image.width);
        const std::size_t at = (static_cast<std::size_t>(y) * image.width + static_cast<std::size_t>(x));
        pixels.values.push_back(values[black ? 0 : image.levels[at * image.channels + c]]);
      }
    }
  }
  return pixels;
}

// Scaled, resized and normalized in this order, without rounding to levels in between.
Pixels resized_values(const Image& image, const ImageSize& size, const Preprocessing& preprocessing) {
  const std::vector<float> values = resample_values(image, size, preprocessing.resample, preprocessing.scale);
  Pixels pixels{image.channels, size.height, size.width, {}};
  pixels.values.reserve(values.size());
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < size.height * size.width; ++i) {
      float value = values[i * image.channels + c];
      if (!preprocessing.mean.empty()) value = (value - preprocessing.mean[c]) / preprocessing.std[c];
      pixels.values.push_back(value);
    }
  }
  return pixels;
}

}  // namespace

PixelBox PreprocessedImage::in_original(const PixelBox& box) const noexcept {
  const double y = (shown.bottom - shown.top) / static_cast<double>(pixels.height);
  const double x = (shown.right - shown.left) / static_cast<double>(pixels.width);
  return {shown.top + y * box.top, shown.left + x * box.left, shown.top + y * box.bottom, shown.left + x * box.right};
}

PreprocessedImage preprocess(const Image& image, const Preprocessing& preprocessing, std::string_view where) {
  check(image, preprocessing, where);
  const ImageSize original{image.height, image.width};
  const ImageSize size = resized(original, preprocessing, where);
  Cut cut{0, 0, size};
  if (preprocessing.crop) {
    cut = {crop_begin(size.height, preprocessing.crop->height, preprocessing.crop_to_even),
           crop_begin(size.width, preprocessing.crop->width, preprocessing.crop_to_even), *preprocessing.crop};
  }
  PreprocessedImage result;
  result.pixels = preprocessing.scale_first ? resized_values(image, size, preprocessing)
                  : size == original        ? to_pixels(image, cut, preprocessing)
                                     : to_pixels(resample(image, size, preprocessing.resample), cut, preprocessing);
  result.original = original;
  const double y = static_cast<double>(original.height) / static_cast<double>(size.height);
  const double x = static_cast<double>(original.width) / static_cast<double>(size.width);
  result.shown = {y * static_cast<double>(cut.top), x * static_cast<double>(cut.left),
                  y * static_cast<double>(cut.top + static_cast<std::ptrdiff_t>(cut.size.height)),
                  x * static_cast<double>(cut.left + static_cast<std::ptrdiff_t>(cut.size.width))};
  return result;
}

PreprocessedImage open_preprocessed(const std::filesystem::path& path, const Preprocessing& preprocessing) {
  return preprocess(open_image(path, {.channels = preprocessing.channels}), preprocessing, path.string());
}

}  // namespace headscope
