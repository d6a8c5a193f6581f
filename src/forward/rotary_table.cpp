#include "forward/rotary_table.h"

#include <cmath>
#include <numbers>

#include "headscope/forward/row_kernels.h"

namespace headscope {

RotaryTable::RotaryTable(const Rotary& rotary, std::size_t length)
    : interleaved_(rotary.interleaved),
      first_(rotary.first),
      cosine_(length, rotary.width / 2),
      sine_(length, rotary.width / 2) {
  if (rotary.width == 0) return;
  const std::vector<float> frequencies = rotary_frequencies(rotary, length);
  const bool longer = rotary.scaling == RotaryScaling::kLongRope && static_cast<double>(length) > rotary.trained_length;
  const auto amplitude = static_cast<float>(longer ? rotary.long_amplitude : rotary.amplitude);
  for (std::size_t t = 0; t < length; ++t) {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      // The angle is rounded to float like in PyTorch: the sine of a large angle depends on it.
      const float angle = static_cast<float>(t) * frequencies[i];
      cosine_(t, i) = std::cos(angle) * amplitude;
      sine_(t, i) = std::sin(angle) * amplitude;
    }
  }
}

RotaryTable::RotaryTable(const Rotary& rotary, const PatchGrid& grid, std::size_t before)
    : cosine_(before + grid.size(), rotary.width / 2), sine_(before + grid.size(), rotary.width / 2) {
  const std::size_t half = rotary.width / 4;
  const bool centers = rotary.grid == RotaryGrid::kCenters;
  const auto frequency = [&](std::size_t i, bool column) {
    const std::size_t k = 2 * i + (rotary.grid == RotaryGrid::kAlternating && column ? 1 : 0);
    return static_cast<float>(1 /
                              std::pow(rotary.base, 2 * static_cast<double>(k) / static_cast<double>(rotary.width)));
  };
  const auto place = [&](std::size_t index, std::size_t count) {
    if (!centers) return static_cast<float>(index);
    // Rounded to float at every step, like in PyTorch.
    const float center = (static_cast<float>(index) + 0.5F) / static_cast<float>(count);
    return static_cast<float>(2 * std::numbers::pi) * (2.0F * center - 1.0F);
  };
  for (std::size_t t = 0; t < cosine_.rows(); ++t) {
    for (std::size_t i = 0; i < cosine_.columns(); ++i) {
      float angle = 0;
      if (t >= before) {
        const std::size_t patch = t - before;
        const float at = i < half ? place(patch / grid.width, grid.height) : place(patch % grid.width, grid.width);
        angle = at * frequency(i % half, i >= half);
      }
      cosine_(t, i) = std::cos(angle);
      sine_(t, i) = std::sin(angle);
    }
  }
}

void RotaryTable::rotate(std::size_t position, float* head) const {
  if (!empty()) rotate_pairs(cosine_.row(position), sine_.row(position), interleaved_, head + first_);
}

void grow_query(const Network& network, std::size_t position, std::span<float> query) {
  if (network.query_growth <= 0) return;
  const double periods = std::floor((static_cast<double>(position) + network.query_shift) / network.query_period);
  const auto factor = static_cast<float>(1 + network.query_growth * std::log1p(periods));
  for (float& value : query) value *= factor;
}

}  // namespace headscope
