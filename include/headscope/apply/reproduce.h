#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/weight_processing.h"

namespace headscope {

/// One published figure beside ours.
struct ReproducedFigure {
  std::string name;  ///< "mean pk QQ"
  double published = 0;
  double tolerance = 0;  ///< 0: shown for orientation, no verdict.
  double folded = 0;     ///< Ours, with `folded` weights.
  double raw = 0;        ///< Ours, with `raw` weights.
  bool decides = false;  ///< One of those that tell which weights the paper used.

  [[nodiscard]] double ours(WeightProcessing weights) const noexcept {
    return weights == WeightProcessing::kFolded ? folded : raw;
  }
  /// Nothing where the figure has no tolerance.
  [[nodiscard]] std::optional<bool> met(WeightProcessing weights) const noexcept;
};

/// Words published as close to one subspace of a head, beside the tokens closest to it here.
struct ReproducedProfile {
  std::string name;  ///< "L10H0 O"
  std::vector<std::string> published;
  std::vector<std::string> folded = {};  ///< Our closest tokens, best first, without the blanks around them.
  std::vector<std::string> raw = {};

  [[nodiscard]] const std::vector<std::string>& ours(WeightProcessing weights) const noexcept {
    return weights == WeightProcessing::kFolded ? folded : raw;
  }
  /// How many of the published words are among ours.
  [[nodiscard]] std::size_t shared(WeightProcessing weights) const noexcept;
};

/// A published figure that this model does not give.
struct UncomparedFigure {
  std::string name;  ///< "identity score L0H3"
  std::string published;
  std::string reason;  ///< "is about another model"
};

struct Reproduction {
  std::string source;  ///< The paper.
  std::vector<ReproducedFigure> figures;
  std::vector<ReproducedProfile> profiles;
  std::string no_profiles;  ///< Why the profiles hold no tokens of ours; empty if they do.
  std::vector<UncomparedFigure> uncompared;
  /// The weights under which all deciding figures are met; nothing if neither does, so that the
  /// model is not GPT-2 small.
  std::optional<WeightProcessing> weights;
};

/// Computes every figure published for GPT-2 small's weights (data/published/gpt2-small.json) on
/// a model of its shape, under both weight processings. Tokens have text only where the model
/// comes with a vocabulary.
///
/// `progress` is called with the share of the work that is done, and may throw to stop.
///
/// \throws Error  kUnsupported if the model has another shape; as `relate` otherwise.
[[nodiscard]] Reproduction reproduce(const Model& model, const std::function<void(double)>& progress = {});

}  // namespace headscope
