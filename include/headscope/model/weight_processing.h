#pragma once

#include <string_view>

namespace headscope {

/// What is done to a head's matrices before they are compared. It changes every result, so every output states it.
enum class WeightProcessing {
  /// As TransformerLens users see them. Pre-norm models: Q, K and V are multiplied by the gain of the norm before
  /// attention; in LayerNorm models the all-ones direction is also projected out of Q, K, V and O, since the norm
  /// removes it. Post-norm models: nothing is folded.
  kFolded,
  /// As stored.
  kRaw,
};

[[nodiscard]] constexpr std::string_view to_string(WeightProcessing processing) noexcept {
  return processing == WeightProcessing::kFolded ? "folded" : "raw";
}

}  // namespace headscope
