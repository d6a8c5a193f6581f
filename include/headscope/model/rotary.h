#pragma once

#include <cstddef>
#include <vector>

namespace headscope {

/// How rotary frequencies are adapted to inputs longer than those the model was first trained on.
enum class RotaryScaling {
  kNone,
  kLinear,    ///< All frequencies are divided by `factor`.
  kDynamic,   ///< The base grows with inputs beyond `trained_length` (NTK).
  kLlama3,    ///< Low frequencies are divided by `factor`, high ones are kept, with a ramp in between.
  kYarn,      ///< Same with a different ramp; scores are scaled too (arXiv 2309.00071).
  kLongRope,  ///< Each frequency is divided by its own factor; one list for short inputs, one for long ones (arXiv
              ///< 2402.13753).
  kFactors,   ///< Each frequency is divided by its own factor, for any input.
};

/// How a patch's row and column become angles. The first half of the pairs belongs to rows, the second to columns, and
/// n is the number of pairs; tokens that are not patches are not rotated.
enum class RotaryGrid {
  kNone,
  kCenters,      ///< 2 pi c base^(-2i/n), where c from -1 to 1 is the place of the patch's center (DINOv3).
  kAxes,         ///< Row, or column, times base^(-2i/n) (Qwen2-VL).
  kAlternating,  ///< Row times base^(-2i/n), column times base^(-(2i+1)/n) (Pixtral).
};

/// Rotary positions: pair i of `width` of a head's components, from `first` on, is rotated by position * f_i, where
/// f_i = base^(-2i/width) before scaling (arXiv 2104.09864).
struct Rotary {
  std::size_t width = 0;     ///< Number of rotated components; 0: no rotary positions.
  std::size_t first = 0;     ///< The first of them; in latent attention those of the shared key, which are the last.
  std::size_t turning = 0;   ///< Pairs after this many are not rotated; 0: all are.
  bool interleaved = false;  ///< Pairs are (2i, 2i+1); otherwise (i, i + width/2).
  double base = 10000;
  RotaryGrid grid = RotaryGrid::kNone;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;
  double trained_length = 0;  ///< Maximum input length before scaling.
  double low_frequency = 1;   ///< Llama 3: frequencies with a wavelength above trained_length / this are divided ...
  double high_frequency = 4;  ///< ... those with a wavelength below trained_length / this are kept.
  double beta_fast = 32;      ///< Bounds of YaRN's ramp, in turns over trained_length.
  double beta_slow = 1;
  bool whole_ramp = true;                  ///< YaRN: round the bounds of the ramp to whole pairs.
  double amplitude = 1;                    ///< Factor on sine and cosine.
  double long_amplitude = 1;               ///< kLongRope: the same for inputs longer than trained_length.
  std::vector<double> short_factors = {};  ///< kLongRope: for inputs up to trained_length; kFactors: for all inputs.
  std::vector<double> long_factors = {};   ///< kLongRope: for longer inputs.
};

/// Returns f_i for an input of `length` tokens, after scaling.
[[nodiscard]] std::vector<float> rotary_frequencies(const Rotary& rotary, std::size_t length);

}  // namespace headscope
