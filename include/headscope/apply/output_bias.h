#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/model/model.h"

namespace headscope {

/// How the files of a model can hold what removed heads wrote on average: as a bias of the output projection.
enum class BiasKind {
  kStored,  ///< Every output projection has one, as GPT-2, OPT, GPT-NeoX, BERT and ViT do.
  kAdded,   ///< Biases of Q, K, V and O can be added, all four: by a key of config.json, or in GGUF by their names.
  kNone,    ///< Neither.
};

struct OutputBias {
  BiasKind kind = BiasKind::kNone;
  std::string why_not = {};  ///< For kNone, e.g. "mistral has no bias of the output projection".
};

/// Finds out from names, types and configuration; reads no weights.
/// \throws Error  as `resolve_network`.
[[nodiscard]] OutputBias find_output_bias(const Model& model);

/// Returns the biases of the output projections, by layer, that the model would have if the heads were removed and what
/// they are replaced by were carried by the bias: b + sum O_a m_a over the replaced heads a. Layers without replaced
/// heads keep their bias; all zeros if there is none. Holds one output projection as floats.
/// \throws Error  as `resolve_network`; kInvalidArgument if there is no such head.
[[nodiscard]] std::vector<std::vector<float>> biases_with(const Model& model,
                                                          std::span<const HeadReplacement> replacements);

}  // namespace headscope
