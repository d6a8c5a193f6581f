#pragma once

#include <cstddef>
#include <span>

#include "headscope/model/forward_form.h"

namespace headscope {

// Operations of a forward pass on one row at a time. One source, compiled for every SIMD width and dispatched at run
// time.

/// out = (x - mean) / sqrt(variance + epsilon) * gain + bias; `bias` may be empty. `out` may be `x`.
void layer_norm(std::span<const float> x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                std::span<float> out);

/// out = x / sqrt(mean of squares + epsilon) * gain. `out` may be `x`.
void rms_norm(std::span<const float> x, std::span<const float> gain, float epsilon, std::span<float> out);

/// exp(x - max) / sum, in place.
void softmax(std::span<float> x);

/// ln sum exp(x), for at least one value.
[[nodiscard]] double log_sum_exp(std::span<const float> x);

/// cap * tanh(x / cap), in place.
void soft_cap(std::span<float> x, float cap);

/// act(x), in place.
void activate(Activation activation, std::span<float> x);

/// x = act(gate) * x.
void activate_gate(Activation activation, std::span<const float> gate, std::span<float> x);

/// x += y * scale, or x += y if `scale` is empty.
void add_scaled(std::span<const float> y, std::span<const float> scale, std::span<float> x);

/// Rotates each pair i of x by the angle with the given cosine and sine. Pairs are (i, i + n) or, interleaved,
/// (2i, 2i + 1), where n is the number of pairs.
void rotate_pairs(std::span<const float> cosine, std::span<const float> sine, bool interleaved, float* x);

/// -sum p ln p, with 0 ln 0 = 0.
[[nodiscard]] double entropy(std::span<const float> p);

/// Rounds to half precision, ties to even; values out of range become infinity.
void to_half(std::span<const float> x, std::span<unsigned short> out);

}  // namespace headscope
