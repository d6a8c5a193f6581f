#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/model.h"
#include "headscope/model/weight_processing.h"

namespace headscope {

/// A published value next to ours.
struct ReproducedFigure {
  std::string name;  ///< "mean pk QQ"
  double published = 0;
  double tolerance = 0;  ///< 0: shown for reference, without a verdict.
  double folded = 0;     ///< Our value with `folded` weights.
  double raw = 0;        ///< Our value with `raw` weights.
  bool decides = false;  ///< Whether it is used to determine which weights the paper used.

  [[nodiscard]] double ours(WeightProcessing weights) const noexcept {
    return weights == WeightProcessing::kFolded ? folded : raw;
  }
  /// Empty if the figure has no tolerance.
  [[nodiscard]] std::optional<bool> met(WeightProcessing weights) const noexcept;
};

/// Words published as close to one subspace of a head, next to the tokens that we find closest to it.
struct ReproducedProfile {
  std::string name;  ///< "L10H0 O"
  std::vector<std::string> published;
  std::vector<std::string> folded = {};  ///< Our closest tokens, closest first, without surrounding blanks.
  std::vector<std::string> raw = {};

  [[nodiscard]] const std::vector<std::string>& ours(WeightProcessing weights) const noexcept {
    return weights == WeightProcessing::kFolded ? folded : raw;
  }
  /// Returns how many of the published words are among ours.
  [[nodiscard]] std::size_t shared(WeightProcessing weights) const noexcept;
};

/// A published figure that cannot be computed from this model.
struct UncomparedFigure {
  std::string name;  ///< "identity score L0H3"
  std::string published;
  std::string reason;  ///< "is about another model"
};

struct Reproduction {
  std::string source;  ///< The paper.
  std::vector<ReproducedFigure> figures;
  std::vector<ReproducedProfile> profiles;
  std::string no_profiles;  ///< Why the profiles contain no tokens of ours; empty if they do.
  std::vector<UncomparedFigure> uncompared;
  /// The weights under which all deciding figures are met; empty if neither does, which means that the model is not
  /// GPT-2 small.
  std::optional<WeightProcessing> weights;
};

/// Computes every figure published for GPT-2 small's weights (data/published/gpt2-small.json) on a model of that shape,
/// under both weight processings. Tokens have text only if the model comes with a vocabulary.
///
/// Half of the memory budget is for prepared heads (`compute_affinities`, `token_profiles`), all of it for the forward
/// passes of `detect`, which come later. Not collective: the calling rank does all the work.
///
/// \throws Error  kUnsupported if the model has another shape; otherwise as `relate`.
[[nodiscard]] Reproduction reproduce(const Model& model, const Context& context = {});

}  // namespace headscope
