#pragma once

#include <cstddef>
#include <string>

#include "headscope/model/head_weights.h"
#include "headscope/model/model.h"

namespace headscope {

/// The two steps of weight processing, as separate switches. `WeightProcessing` names the combinations that users
/// choose from; the others show how far a result depends on that choice.
struct ProcessingSteps {
  /// Multiply Q, K and V by the gain of the norm before attention. Post-norm models have no such norm: nothing happens.
  bool gain = false;
  /// Project the all-ones direction out of Q, K, V and O: subtract the mean over the residual stream. A LayerNorm does
  /// that to what it reads; for other models it is a variant without such a reason.
  bool center = false;

  friend bool operator==(const ProcessingSteps&, const ProcessingSteps&) = default;
};

/// Returns the steps of a named processing: both for folded pre-norm LayerNorm models, the gain for folded RMSNorm
/// models, none for folded post-norm models and for raw weights.
[[nodiscard]] ProcessingSteps steps_of(WeightProcessing processing, const ModelInfo& info) noexcept;

/// Whether the centering of a role's matrices is meant in that layer: a layer without a norm reads the stream's mean.
[[nodiscard]] bool centered(const LayerTensors& tensors, Role role) noexcept;

/// E.g. "gain and centering", "gain only", "centering only", "as stored".
[[nodiscard]] std::string to_string(ProcessingSteps steps);

/// Applies the steps to raw weights of the role and layer that `weights` was loaded from, in place.
/// \throws Error  kFormat if the file lacks the gain; kNumeric as `Model::load_heads`.
void apply_steps(const Model& model, std::size_t layer, ProcessingSteps steps, HeadWeights& weights);

}  // namespace headscope
