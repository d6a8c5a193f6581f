#include "headscope/image/thumbnail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headscope/base/error.h"
#include "image/resample.h"

namespace headscope {
namespace {

constexpr std::size_t kColors = 3;

void check(const Pixels& pixels, ImageSize covered, const Preprocessing& preprocessing) {
  const bool fits = covered.height > 0 && covered.width > 0 && covered.height <= pixels.height &&
                    covered.width <= pixels.width && (pixels.channels == 1 || pixels.channels == kColors) &&
                    preprocessing.std.size() == preprocessing.mean.size() &&
                    (preprocessing.mean.empty() || preprocessing.mean.size() == pixels.channels);
  if (fits) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("a thumbnail of {} x {} pixels cannot be cut from {} channels of {} x {} with {} means",
                          covered.height, covered.width, pixels.channels, pixels.height, pixels.width,
                          preprocessing.mean.size()));
}

// The inverse of preprocessing's last step.
std::uint8_t level_of(double value, std::size_t channel, const Preprocessing& preprocessing) {
  if (!preprocessing.mean.empty()) value = value * preprocessing.std[channel] + preprocessing.mean[channel];
  const double level = preprocessing.scale != 0 ? value / preprocessing.scale : value;
  return static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
}

}  // namespace

Image make_thumbnail(const Pixels& pixels, ImageSize covered, const Preprocessing& preprocessing) {
  check(pixels, covered, preprocessing);
  Image image{covered.height, covered.width, kColors, {}};
  image.levels.reserve(covered.height * covered.width * kColors);
  for (std::size_t y = 0; y < covered.height; ++y) {
    for (std::size_t x = 0; x < covered.width; ++x) {
      for (std::size_t color = 0; color < kColors; ++color) {
        const std::size_t channel = pixels.channels == 1 ? 0 : color;
        const std::size_t at = (channel * pixels.height + y) * pixels.width + x;
        image.levels.push_back(level_of(static_cast<double>(pixels.values[at]), channel, preprocessing));
      }
    }
  }
  const std::size_t longest = std::max(covered.height, covered.width);
  if (longest <= kThumbnailSide) return image;
  const auto reduced = [&](std::size_t side) { return std::max<std::size_t>(1, side * kThumbnailSide / longest); };
  return resample(image, {reduced(covered.height), reduced(covered.width)}, Resample::kBilinear);
}

}  // namespace headscope
