#include "headscope/model/processing_steps.h"

#include <fmt/format.h>

#include <vector>

#include "headscope/base/error.h"
#include "headscope/model/read_weights.h"
#include "model/fold.h"

namespace headscope {

ProcessingSteps steps_of(WeightProcessing processing, const ModelInfo& info) noexcept {
  const bool folded = processing == WeightProcessing::kFolded && info.order == NormOrder::kPre;
  // Attention that reads the stream itself (Swin v2) also reads its mean.
  return {.gain = folded, .center = folded && info.norm == NormKind::kLayerNorm && info.input_norm};
}

bool centered(const LayerTensors& tensors, Role role) noexcept {
  return role == Role::kO || tensors.normed;
}

std::string to_string(ProcessingSteps steps) {
  if (steps.gain && steps.center) return "gain and centering";
  if (steps.gain) return "gain only";
  return steps.center ? "centering only" : "as stored";
}

void apply_steps(const Model& model, std::size_t layer, ProcessingSteps steps, HeadWeights& weights) {
  const HeadMap& map = model.head_map();
  const LayerTensors& tensors = map.layers.at(layer);
  std::vector<float> factors;
  if (steps.gain && weights.role() != Role::kO && model.info().order == NormOrder::kPre && tensors.normed &&
      map.gain_required) {
    const StoredTensor* gain = tensors.gain_for(weights.role());
    if (gain == nullptr) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: layer {} lacks the gain of the norm before attention",
                                                  model.checkpoint().path().string(), layer));
    }
    factors = read_vector(model.checkpoint(), *gain);
    for (float& factor : factors) factor += map.norm_offset;
  }
  fold(weights, {.factors = factors, .remove_mean = steps.center && centered(tensors, weights.role())});
}

}  // namespace headscope
