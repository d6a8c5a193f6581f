#include "image/resample.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

// 32 bits hold 8 bits of the level, a sign, one bit for filters that overshoot, and these.
constexpr int kFractionalBits = 22;

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

// Half the filter's width, in pixels of the coarser image.
double support(Resample filter) {
  switch (filter) {
    case Resample::kBox:
      return 0.5;
    case Resample::kBicubic:
      return 2;
    case Resample::kLanczos:
      return 3;
    default:
      return 1;
  }
}

double weight(Resample filter, double x) {
  switch (filter) {
    case Resample::kBox:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Resample::kLanczos:
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Resample::kBicubic: {
      constexpr double a = -0.5;
      x = std::abs(x);
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
    default:
      return std::max(0.0, 1 - std::abs(x));
  }
}

// Weights of the input pixels, starting at `first`, that make up one output pixel.
struct Taps {
  std::size_t first = 0;
  std::vector<std::int32_t> weights;
};

// The same with exact weights, which sum to 1.
struct ExactTaps {
  std::size_t first = 0;
  std::vector<double> weights;
};

ExactTaps exact_taps_of(std::size_t pixel, double scale, std::size_t length, Resample filter) {
  const double stretch = std::max(scale, 1.0);
  const double center = (static_cast<double>(pixel) + 0.5) * scale;
  const double reach = support(filter) * stretch;
  const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(center - reach + 0.5)));
  const auto end = std::min(length, static_cast<std::size_t>(std::floor(center + reach + 0.5)));
  std::vector<double> exact(end - first);
  double sum = 0;
  // PIL multiplies by the inverse; dividing would differ in the last bit.
  const double shrink = 1.0 / stretch;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = weight(filter, (static_cast<double>(i + first) - center + 0.5) * shrink);
    sum += exact[i];
  }
  for (double& one : exact) one = sum == 0 ? one : one / sum;
  return {first, std::move(exact)};
}

Taps taps_of(std::size_t pixel, double scale, std::size_t length, Resample filter) {
  const ExactTaps exact = exact_taps_of(pixel, scale, length, filter);
  Taps taps{exact.first, std::vector<std::int32_t>(exact.weights.size())};
  for (std::size_t i = 0; i < exact.weights.size(); ++i) {
    const double fixed = exact.weights[i] * (1 << kFractionalBits);
    taps.weights[i] = static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5);
  }
  return taps;
}

std::vector<Taps> all_taps(std::size_t from, std::size_t to, Resample filter) {
  std::vector<Taps> taps(to);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::size_t i = 0; i < to; ++i) taps[i] = taps_of(i, scale, from, filter);
  return taps;
}

std::uint8_t to_level(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionalBits, 0, 255));
}

constexpr std::int32_t kHalfUnit = 1 << (kFractionalBits - 1);

Image along_rows(const Image& image, std::size_t width, Resample filter) {
  Image out{image.height, width, image.channels, {}};
  out.levels.resize(out.height * out.width * out.channels);
  const std::vector<Taps> taps = all_taps(image.width, width, filter);
  const std::size_t channels = image.channels;
  parallel_for(image.height, [&](std::size_t y) {
    const std::uint8_t* row = image.levels.data() + y * image.width * channels;
    std::uint8_t* to = out.levels.data() + y * width * channels;
    for (const Taps& tap : taps) {
      for (std::size_t c = 0; c < channels; ++c) {
        std::int32_t sum = kHalfUnit;
        const std::uint8_t* from = row + tap.first * channels + c;
        for (std::size_t i = 0; i < tap.weights.size(); ++i) sum += tap.weights[i] * from[i * channels];
        *to++ = to_level(sum);
      }
    }
  });
  return out;
}

Image along_columns(const Image& image, std::size_t height, Resample filter) {
  Image out{height, image.width, image.channels, {}};
  const std::size_t stride = image.width * image.channels;
  out.levels.resize(height * stride);
  const std::vector<Taps> taps = all_taps(image.height, height, filter);
  parallel_for(height, [&](std::size_t y) {
    std::vector<std::int32_t> sums(stride, kHalfUnit);
    for (std::size_t i = 0; i < taps[y].weights.size(); ++i) {
      const std::int32_t w = taps[y].weights[i];
      const std::uint8_t* from = image.levels.data() + (taps[y].first + i) * stride;
      for (std::size_t x = 0; x < stride; ++x) sums[x] += w * from[x];
    }
    std::ranges::transform(sums, out.levels.begin() + static_cast<std::ptrdiff_t>(y * stride), to_level);
  });
  return out;
}

// Returns the source of each output pixel. Accumulated step by step like PIL: a product may fall on the other side of
// an integer.
std::vector<std::size_t> nearest(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<std::size_t> source(to);
  double position = scale * 0.5;
  for (std::size_t& s : source) {
    s = std::min(from - 1, static_cast<std::size_t>(position));
    position += scale;
  }
  return source;
}

Image pick_nearest(const Image& image, const ImageSize& size) {
  Image out{size.height, size.width, image.channels, {}};
  out.levels.reserve(size.height * size.width * image.channels);
  const std::vector<std::size_t> columns = nearest(image.width, size.width);
  for (const std::size_t y : nearest(image.height, size.height)) {
    for (const std::size_t x : columns) {
      const auto pixel = image.levels.begin() + static_cast<std::ptrdiff_t>((y * image.width + x) * image.channels);
      out.levels.insert(out.levels.end(), pixel, pixel + static_cast<std::ptrdiff_t>(image.channels));
    }
  }
  return out;
}

// Resizes one axis of [outer, from, inner] to [outer, to, inner].
std::vector<float> along(const std::vector<float>& values, std::size_t outer, std::size_t from, std::size_t to,
                         std::size_t inner, Resample filter) {
  std::vector<float> out(outer * to * inner);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::size_t j = 0; j < to; ++j) {
    const ExactTaps taps = exact_taps_of(j, scale, from, filter);
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < taps.weights.size(); ++t) {
          sum += taps.weights[t] * static_cast<double>(values[(o * from + taps.first + t) * inner + i]);
        }
        out[(o * to + j) * inner + i] = static_cast<float>(sum);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<float> resample_values(const Image& image, const ImageSize& size, Resample filter, double scale) {
  std::vector<float> values(image.levels.size());
  std::ranges::transform(image.levels, values.begin(),
                         [&](std::uint8_t level) { return static_cast<float>(static_cast<double>(level) * scale); });
  if (image.width != size.width) {
    values = along(values, image.height, image.width, size.width, image.channels, filter);
  }
  if (image.height != size.height) {
    values = along(values, 1, image.height, size.height, size.width * image.channels, filter);
  }
  return values;
}

Image resample(const Image& image, const ImageSize& size, Resample filter) {
  if (filter == Resample::kNearest) return pick_nearest(image, size);
  if (image.width == size.width) return along_columns(image, size.height, filter);
  const Image narrow = along_rows(image, size.width, filter);
  return image.height == size.height ? narrow : along_columns(narrow, size.height, filter);
}

}  // namespace headscope
