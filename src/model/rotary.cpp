#include "headscope/model/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headscope {
namespace {

double llama3(const Rotary& rotary, double frequency) {
  const double wave = 2 * std::numbers::pi / frequency;
  if (wave < rotary.trained_length / rotary.high_frequency) return frequency;
  if (wave > rotary.trained_length / rotary.low_frequency) return frequency / rotary.factor;
  const double kept =
      (rotary.trained_length / wave - rotary.low_frequency) / (rotary.high_frequency - rotary.low_frequency);
  return (1 - kept) * frequency / rotary.factor + kept * frequency;
}

// Bounds of YaRN's ramp, as pair indices.
struct Ramp {
  double begin;
  double end;
};

Ramp yarn_ramp(const Rotary& rotary) {
  const auto width = static_cast<double>(rotary.width);
  // Index of the pair that makes `turns` turns over the trained length.
  const auto pair = [&](double turns) {
    return width * std::log(rotary.trained_length / (turns * 2 * std::numbers::pi)) / (2 * std::log(rotary.base));
  };
  Ramp ramp{pair(rotary.beta_fast), pair(rotary.beta_slow)};
  if (rotary.whole_ramp) ramp = {std::floor(ramp.begin), std::ceil(ramp.end)};
  ramp = {std::max(ramp.begin, 0.0), std::min(ramp.end, width - 1)};
  if (ramp.begin == ramp.end) ramp.end += 0.001;
  return ramp;
}

double base_for(const Rotary& rotary, std::size_t length) {
  if (rotary.scaling != RotaryScaling::kDynamic) return rotary.base;
  const auto width = static_cast<double>(rotary.width);
  const double stretch = std::max(static_cast<double>(length), rotary.trained_length) / rotary.trained_length;
  return rotary.base * std::pow(rotary.factor * stretch - (rotary.factor - 1), width / (width - 2));
}

}  // namespace

std::vector<float> rotary_frequencies(const Rotary& rotary, std::size_t length) {
  const double base = base_for(rotary, length);
  const Ramp ramp = rotary.scaling == RotaryScaling::kYarn ? yarn_ramp(rotary) : Ramp{};
  const bool is_long = static_cast<double>(length) > rotary.trained_length;
  const std::vector<double>& factors =
      rotary.scaling == RotaryScaling::kLongRope && is_long ? rotary.long_factors : rotary.short_factors;

  std::vector<float> frequencies(rotary.width / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (rotary.turning > 0 && i >= rotary.turning) break;  // 0
    double f = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(rotary.width));
    switch (rotary.scaling) {
      case RotaryScaling::kNone:
      case RotaryScaling::kDynamic:
        break;
      case RotaryScaling::kLinear:
        f /= rotary.factor;
        break;
      case RotaryScaling::kLlama3:
        f = llama3(rotary, f);
        break;
      case RotaryScaling::kYarn: {
        const double divided = std::clamp((static_cast<double>(i) - ramp.begin) / (ramp.end - ramp.begin), 0.0, 1.0);
        f = f / rotary.factor * divided + f * (1 - divided);
        break;
      }
      case RotaryScaling::kLongRope:
      case RotaryScaling::kFactors:
        f /= factors[i];
        break;
    }
    frequencies[i] = static_cast<float>(f);
  }
  return frequencies;
}

}  // namespace headscope
