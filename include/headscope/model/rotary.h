#pragma once

#include <cstddef>
#include <vector>

namespace headscope {

/// How rotary frequencies are stretched for inputs longer than those a model was first trained on.
enum class RotaryScaling {
  kNone,
  kLinear,    ///< All divided by `factor`.
  kDynamic,   ///< The base grows with inputs beyond `trained_length` (NTK).
  kLlama3,    ///< Low ones divided, high ones kept, between them a ramp.
  kYarn,      ///< The same with another ramp, and scores scaled (arXiv 2309.00071).
  kLongRope,  ///< Each divided by its own number, one list for short inputs and one for long (arXiv 2402.13753).
  kFactors,   ///< Each divided by its own number, whatever the input.
};

/// Rotary positions: pair i of a head's first `width` components turns by position * f_i, f_i = base^(-2i/width)
/// before scaling (arXiv 2104.09864).
struct Rotary {
  std::size_t width = 0;     ///< Components that turn; 0: no rotary positions.
  bool interleaved = false;  ///< Pairs are (2i, 2i+1); otherwise (i, i + width/2).
  double base = 10000;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;
  double trained_length = 0;  ///< Longest input before scaling.
  double low_frequency = 1;   ///< Llama 3: waves longer than trained_length / this are divided ...
  double high_frequency = 4;  ///< ... those shorter than trained_length / this are kept.
  double beta_fast = 32;      ///< Yarn's ramp, in turns over trained_length.
  double beta_slow = 1;
  bool whole_ramp = true;                  ///< Yarn: the ramp begins and ends at whole components.
  double amplitude = 1;                    ///< Factor on sine and cosine.
  std::vector<double> short_factors = {};  ///< Long rope, up to trained_length; kFactors always.
  std::vector<double> long_factors = {};   ///< Long rope, beyond.
};

/// f_i for an input of `length` tokens, scaling included.
[[nodiscard]] std::vector<float> rotary_frequencies(const Rotary& rotary, std::size_t length);

}  // namespace headscope
