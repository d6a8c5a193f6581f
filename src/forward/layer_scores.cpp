#include "forward/layer_scores.h"

#include <algorithm>
#include <cmath>

#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Factors on the scores by head, of which the file has the logarithms.
std::vector<float> score_factors(const Checkpoint& checkpoint, const StoredTensor& logarithms) {
  std::vector<float> factors = read_vector(checkpoint, logarithms);
  for (float& one : factors) one = std::exp(std::min(one, std::log(100.0F)));
  return factors;
}

}  // namespace

InputScores::InputScores(const Model& model, const Network& network, const NetworkLayer& layer, const InputShape& shape,
                         Buffer<float>& scratch) {
  if (!network.relative.empty()) relative_.emplace(model, network, layer, shape.tokens, scratch);
  if (layer.grid_bias != nullptr) grid_bias_.emplace(model, *layer.grid_bias, shape.grid);
  if (!layer.bias.empty()) bias_.emplace(model, layer.bias, layer.causal, shape.tokens);
  if (!layer.patch_windows.empty()) windows_.emplace(layer.patch_windows, shape.grid);
}

void InputScores::add_to(ScoreRules& rules) const {
  if (relative_) rules.relative = &*relative_;
  if (grid_bias_) rules.grid_bias = &*grid_bias_;
  if (bias_) rules.bias = &*bias_;
  if (windows_) rules.windows = &*windows_;
}

LayerScores::LayerScores(const Model& model, const Network& network, const NetworkLayer& layer)
    : network_(network), layer_(layer) {
  if (layer.sinks != nullptr) sinks_ = read_vector(model.checkpoint(), *layer.sinks);
  if (layer.score_factors != nullptr) head_factors_ = score_factors(model.checkpoint(), *layer.score_factors);
  if (!layer.window_bias.empty()) window_bias_.emplace(model, layer.window_bias, layer.patch_windows.side);
}

ScoreRules LayerScores::rules(const InputScores& input, const BiasTable* shared) const {
  ScoreRules rules{.scale = layer_.score_scale,
                   .head_factors = head_factors_,
                   .cap = network_.score_cap,
                   .causal = layer_.causal,
                   .window = layer_.window,
                   .chunk = layer_.chunk,
                   .sinks = sinks_,
                   .bias = shared,
                   .window_bias = window_bias_ ? &*window_bias_ : nullptr};
  input.add_to(rules);
  return rules;
}

}  // namespace headscope
