#include "headscope/model/layer_order.h"

namespace headscope {

std::size_t step_of(const HeadSizes& sizes, std::size_t layer) noexcept {
  const BlockLayer own = sizes.place(layer);
  if (own.block == Block::kOnly || own.block == Block::kEncoder) return own.layer;
  return sizes.encoder_layers + 2 * own.layer + (own.block == Block::kCross ? 1 : 0);
}

std::size_t layer_at(const HeadSizes& sizes, std::size_t step) noexcept {
  if (!sizes.has_blocks() || step < sizes.encoder_layers) return step;
  const std::size_t of_decoder = step - sizes.encoder_layers;
  return sizes.encoder_layers + of_decoder / 2 + (of_decoder % 2 == 1 ? sizes.decoder_layers : 0);
}

StepRange steps_before(const HeadSizes& sizes, std::size_t layer, Role role) noexcept {
  const Block block = sizes.place(layer).block;
  if (block == Block::kCross && is_key_value(role)) return {0, sizes.encoder_layers};
  const bool decodes = block == Block::kDecoder || block == Block::kCross;
  return {decodes ? sizes.encoder_layers : 0, step_of(sizes, layer)};
}

}  // namespace headscope
