#pragma once

#include <span>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/model/head_id.h"

namespace headscope {

/// What an ablated head writes.
enum class Ablation {
  kZero,  ///< Zeros.
  kMean,  ///< Its mean over all tokens of some inputs, the same for every token.
};

/// Returns replacements that make the heads write zeros.
/// \throws Error  kInvalidArgument if the model has no such query head.
[[nodiscard]] std::vector<HeadReplacement> zero_ablation(const Model& model, std::span<const HeadId> heads);

/// Returns replacements that make each head write its mean over all tokens of `inputs`: what is specific to a token is
/// removed, what the head writes for every token remains. Runs the model once, which counts against the budget as in
/// `run_forward`.
/// \throws Error  as `run_forward`, and kInvalidArgument if there are no inputs or no such head.
[[nodiscard]] std::vector<HeadReplacement> mean_ablation(const Model& model, std::span<const HeadId> heads,
                                                         std::span<const ModelInput> inputs,
                                                         const Context& context = {});

}  // namespace headscope
