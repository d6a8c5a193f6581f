#include "forward/rotary_table.h"

#include <cmath>

#include "headscope/forward/row_kernels.h"

namespace headscope {

RotaryTable::RotaryTable(const Rotary& rotary, std::size_t length)
    : interleaved_(rotary.interleaved), first_(rotary.first), cosine_(length, rotary.width / 2), sine_(length, rotary.width / 2) {
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
