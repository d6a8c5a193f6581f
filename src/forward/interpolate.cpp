#include "forward/interpolate.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headscope {
namespace {

struct Taps {
  std::array<std::size_t, 4> index;
  std::array<float, 4> weight;
};

// The four neighbors of new pixel i and their weights.
Taps taps(std::size_t i, std::size_t size, std::size_t new_size) {
  constexpr double kA = -0.75;
  const double scale = static_cast<double>(size) / static_cast<double>(new_size);
  const double position = (static_cast<double>(i) + 0.5) * scale - 0.5;
  const double floor = std::floor(position);
  const double t = position - floor;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  Taps result{};
  const std::array<double, 4> weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  for (std::size_t k = 0; k < 4; ++k) {
    const double index = std::clamp(floor + static_cast<double>(k) - 1, 0.0, static_cast<double>(size - 1));
    result.index[k] = static_cast<std::size_t>(index);
    result.weight[k] = static_cast<float>(weights[k]);
  }
  return result;
}

// Weights of consecutive pixels, from `first` on.
struct Average {
  std::size_t first = 0;
  std::vector<float> weights = {};
};

// A triangle around the new pixel's center, as wide as the new pixels are apart, or the old ones if these are wider.
Average average(std::size_t i, std::size_t size, std::size_t new_size) {
  const double scale = static_cast<double>(size) / static_cast<double>(new_size);
  const double reach = std::max(scale, 1.0);
  const double center = (static_cast<double>(i) + 0.5) * scale;
  Average result;
  result.first = static_cast<std::size_t>(std::max(std::floor(center - reach + 0.5), 0.0));
  const auto end = std::min(static_cast<std::size_t>(std::floor(center + reach + 0.5)), size);
  double sum = 0;
  for (std::size_t j = result.first; j < end; ++j) {
    const double weight = std::max(1 - std::abs((static_cast<double>(j) + 0.5 - center) / reach), 0.0);
    result.weights.push_back(static_cast<float>(weight));
    sum += weight;
  }
  for (float& weight : result.weights) weight = static_cast<float>(weight / sum);
  return result;
}

}  // namespace

std::vector<float> interpolate_averaging(std::span<const float> grid, std::size_t height, std::size_t width,
                                         std::size_t channels, std::size_t new_height, std::size_t new_width) {
  std::vector<float> out(new_height * new_width * channels);
  for (std::size_t y = 0; y < new_height; ++y) {
    const Average rows = average(y, height, new_height);
    for (std::size_t x = 0; x < new_width; ++x) {
      const Average columns = average(x, width, new_width);
      float* cell = out.data() + (y * new_width + x) * channels;
      for (std::size_t i = 0; i < rows.weights.size(); ++i) {
        for (std::size_t j = 0; j < columns.weights.size(); ++j) {
          const float weight = rows.weights[i] * columns.weights[j];
          const float* source = grid.data() + ((rows.first + i) * width + columns.first + j) * channels;
          for (std::size_t c = 0; c < channels; ++c) cell[c] += weight * source[c];
        }
      }
    }
  }
  return out;
}

std::vector<float> interpolate_bicubic(std::span<const float> grid, std::size_t height, std::size_t width,
                                       std::size_t channels, std::size_t new_height, std::size_t new_width) {
  std::vector<float> out(new_height * new_width * channels);
  for (std::size_t y = 0; y < new_height; ++y) {
    const Taps rows = taps(y, height, new_height);
    for (std::size_t x = 0; x < new_width; ++x) {
      const Taps columns = taps(x, width, new_width);
      float* cell = out.data() + (y * new_width + x) * channels;
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          const float weight = rows.weight[i] * columns.weight[j];
          const float* source = grid.data() + (rows.index[i] * width + columns.index[j]) * channels;
          for (std::size_t c = 0; c < channels; ++c) cell[c] += weight * source[c];
        }
      }
    }
  }
  return out;
}

}  // namespace headscope
