#include "headscope/model/head_sizes.h"

#include <fmt/format.h>

namespace headscope {

std::size_t HeadSizes::layers_of(Block block) const noexcept {
  if (!has_blocks()) return block == Block::kOnly ? layers : 0;
  return block == Block::kOnly ? 0 : block == Block::kEncoder ? encoder_layers : decoder_layers;
}

BlockLayer HeadSizes::place(std::size_t layer) const noexcept {
  if (!has_blocks()) return {Block::kOnly, layer};
  if (layer < encoder_layers) return {Block::kEncoder, layer};
  layer -= encoder_layers;
  return layer < decoder_layers ? BlockLayer{Block::kDecoder, layer}
                                : BlockLayer{Block::kCross, layer - decoder_layers};
}

std::optional<std::size_t> HeadSizes::layer_of(BlockLayer place) const noexcept {
  if (place.layer >= layers_of(place.block)) return std::nullopt;
  const bool decodes = place.block == Block::kDecoder || place.block == Block::kCross;
  return place.layer + (decodes ? encoder_layers : 0) + (place.block == Block::kCross ? decoder_layers : 0);
}

std::optional<std::size_t> HeadSizes::layer_of(HeadId id) const noexcept {
  const std::optional<std::size_t> layer = layer_of(id.place());
  return layer && id.head < heads_of(*layer, id.key_value ? Role::kK : Role::kQ) ? layer : std::nullopt;
}

std::string HeadSizes::text() const {
  if (!has_blocks()) return fmt::format("{} layers of {} heads", layers, heads);
  return fmt::format("{} encoder and {} decoder layers of {} heads", encoder_layers, decoder_layers, heads);
}

}  // namespace headscope
