#include "headscope/model/rotary_of.h"

#include "model/config_reader.h"
#include "model/find_family.h"
#include "model/forward_settings.h"
#include "model/gguf_settings.h"
#include "model/rotary_settings.h"

namespace headscope {

Rotary rotary_of(const Model& model, std::size_t layer) {
  const Checkpoint& checkpoint = model.checkpoint();
  const FamilyMatch match = find_family(checkpoint, model.info().family, model.info().tower);
  if (match.family->forward.rotary_layers != RotaryLayers::kAll) {
    const HeadSizes& sizes = model.info().sizes;
    const std::vector<bool> rotated =
        checkpoint.is_gguf() ? gguf_settings(checkpoint, match, sizes).rotated
                             : rotated_layers(ConfigReader(checkpoint, match.config), *match.family, sizes.layers);
    if (!rotated.at(layer)) return {};
  }
  return rotary_of(model);
}

Rotary rotary_of(const Model& model) {
  if (!is_rotary(model.info().position)) return {};
  const Checkpoint& checkpoint = model.checkpoint();
  const FamilyMatch match = find_family(checkpoint, model.info().family, model.info().tower);
  if (checkpoint.is_gguf()) return gguf_settings(checkpoint, match, model.info().sizes).rotary;
  ForwardSettings settings;
  set_rotary(ConfigReader(checkpoint, match.config), match, model.info().sizes, settings);
  return settings.rotary;
}

}  // namespace headscope
