#pragma once

#include <vector>

#include "headscope/app/patch.h"

namespace headscope::app {

/// Whether right answers are given as labels, in a file or in memory.
[[nodiscard]] bool has_labels(const PatchRequest& request) noexcept;

/// The predictions that count, by input.
///
/// - Causal language models: the next token at every position from --loss-from on; with --answer, that token at the
///   last position, or at every position from --loss-from on.
/// - Masked language models: with --answer, that token at every mask token; with --labels, those tokens.
/// - Classifiers: the class of --labels or --answer.
///
/// \throws Error  kUnsupported if the model has no output head; kInvalidArgument if answers are missing, of the wrong
///                number or not tokens of the model; kFormat if labels do not fit the inputs.
[[nodiscard]] std::vector<std::vector<Readout>> make_readouts(const PatchRequest& request, const Model& model,
                                                              std::span<const ModelInput> inputs);

}  // namespace headscope::app
