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

struct Reproduction {
  std::string source;  ///< The paper.
  std::vector<ReproducedFigure> figures;
  /// The weights under which all deciding figures are met; nothing if neither does, so that the
  /// model is not GPT-2 small.
  std::optional<WeightProcessing> weights;
};

/// Computes every figure published for GPT-2 small's weights (data/published/gpt2-small.json) on
/// a model of its shape, under both weight processings.
///
/// `progress` is called with the share of the work that is done, and may throw to stop.
///
/// \throws Error  kUnsupported if the model has another shape; as `relate` otherwise.
[[nodiscard]] Reproduction reproduce(const Model& model, const std::function<void(double)>& progress = {});

}  // namespace headscope
