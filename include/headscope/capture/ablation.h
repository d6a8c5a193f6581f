#pragma once

#include <span>
#include <vector>

#include "headscope/capture/forward.h"
#include "headscope/model/head_id.h"

namespace headscope {

/// What an ablated head writes.
enum class Ablation {
  kZero,  ///< Nothing.
  kMean,  ///< Its mean over all tokens of some inputs, the same for every token.
};

/// Replacements that take the heads away by writing nothing in their place.
/// \throws Error  kInvalidArgument if the model has no such query head.
[[nodiscard]] std::vector<HeadReplacement> zero_ablation(const Model& model, std::span<const HeadId> heads);

/// Replacements by each head's mean over all tokens of `inputs`: what is particular to a token is taken away, what the
/// head says to every token stays. Runs the model once.
/// \throws Error  as `run_forward`, and kInvalidArgument if there are no inputs or no such head.
[[nodiscard]] std::vector<HeadReplacement> mean_ablation(const Model& model, std::span<const HeadId> heads,
                                                         std::span<const ModelInput> inputs,
                                                         const ForwardOptions& options = {});

}  // namespace headscope
