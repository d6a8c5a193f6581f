#pragma once

#include <optional>
#include <vector>

#include "forward/score_rules.h"
#include "headscope/base/buffer.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What the scores of a layer need of the shape of an input.
class InputScores {
 public:
  /// \throws Error  kFormat as `read_vector`.
  InputScores(const Model& model, const Network& network, const NetworkLayer& layer, const InputShape& shape,
              Buffer<float>& scratch);

  void add_to(ScoreRules& rules) const;

 private:
  std::optional<RelativeScores> relative_;
  std::optional<GridBias> grid_bias_;
  std::optional<BiasTable> bias_;
  std::optional<WindowParts> windows_;
};

/// What the scores of a layer need for inputs of any shape.
class LayerScores {
 public:
  /// `network` and `layer` must outlive this object.
  /// \throws Error  kFormat as `read_vector`.
  LayerScores(const Model& model, const Network& network, const NetworkLayer& layer);

  /// The rules for an input. `shared` is the bias of all layers of the stack, or nullptr. All arguments, and this
  /// object, must outlive the result.
  [[nodiscard]] ScoreRules rules(const InputScores& input, const BiasTable* shared) const;

 private:
  const Network& network_;
  const NetworkLayer& layer_;
  std::vector<float> sinks_;         // empty for none
  std::vector<float> head_factors_;  // empty for none
  std::optional<WindowBias> window_bias_;
};

}  // namespace headscope
