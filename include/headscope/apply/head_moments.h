#pragma once

#include <span>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/model/model.h"

namespace headscope {

/// What the query heads write on some inputs, in layer order.
struct HeadMoments {
  /// Mean output before O over all tokens: d_head numbers per head.
  std::vector<std::vector<float>> means;
  /// Mean over all tokens t of ||o_t - mean o||^2 / ||x_t||^2, with o the head's contribution to the residual stream
  /// and x the stream before the layer: what of the stream changes if the head writes its mean for every token (METHODS
  /// 10). o includes factors on the branch: a scale per channel, or a norm after attention with the factor it had. In
  /// post-norm models o is what is added to x before the norm.
  std::vector<double> energy;
  /// The same with ||x_t - ||x_t|| m||^2 in place of ||x_t||^2, where m is the mean of x / ||x|| over tokens: which
  /// part of what distinguishes tokens the head writes. In late layers of large models most of x is the same for all
  /// tokens, which makes energies there too small. The mean of x itself is that of a few tokens with enormous x: with
  /// it, 81 heads of SmolLM2-135M cost 0.65 nats instead of 0.30.
  std::vector<double> variation;
};

/// Measures the moments with two forward passes, the first for the mean directions. Nothing else is kept
/// but sums per head: ||O z||^2 = z^T (O^T O) z takes the h x h Gram matrix of O, so that the cost besides the passes
/// is O(h) per token and channel.
///
/// The memory budget also covers the Gram matrices and the outputs of one layer. Not collective.
///
/// \throws Error  kInvalidArgument if there are no inputs; otherwise as `run_forward` and `Model::load_heads`.
[[nodiscard]] HeadMoments measure_head_moments(const Model& model, std::span<const ModelInput> inputs,
                                               const Context& context = {});

}  // namespace headscope
