#pragma once

#include <cstddef>
#include <span>

#include "headscope/model/forward_form.h"

namespace headscope {

// What a forward pass does to one row of numbers at a time. One source, compiled for every SIMD width and chosen when
// the program runs.

/// out = (x - mean) / sqrt(variance + epsilon) * gain + bias; `bias` may be empty. In place is fine.
void layer_norm(std::span<const float> x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                std::span<float> out);

/// out = x / sqrt(mean of squares + epsilon) * gain. In place is fine.
void rms_norm(std::span<const float> x, std::span<const float> gain, float epsilon, std::span<float> out);

/// exp(x - max) / sum, in place.
void softmax(std::span<float> x);

/// cap * tanh(x / cap), in place.
void soft_cap(std::span<float> x, float cap);

/// act(x), in place.
void activate(Activation activation, std::span<float> x);

/// x = act(gate) * x.
void activate_gate(Activation activation, std::span<const float> gate, std::span<float> x);

/// x += y * scale, or x += y where `scale` is empty.
void add_scaled(std::span<const float> y, std::span<const float> scale, std::span<float> x);

/// Turns pair i of x by an angle given by its cosine and sine: (i, i + n) or, interleaved, (2i, 2i + 1), with n the
/// number of pairs.
void turn_pairs(std::span<const float> cosine, std::span<const float> sine, bool interleaved, float* x);

/// -sum p ln p, with 0 ln 0 = 0.
[[nodiscard]] double entropy(std::span<const float> p);

/// Rounds to half precision, nearest even; beyond its range to infinity.
void to_half(std::span<const float> x, std::span<unsigned short> out);

}  // namespace headscope
