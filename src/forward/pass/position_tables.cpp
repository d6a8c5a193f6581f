#include "forward/pass/position_tables.h"

namespace headscope {

PositionTables::PositionTables(const Model& model, const Network& network, const ScoreBias& bias, bool causal,
                               std::span<const InputShape> shapes) {
  for (const auto& [tokens, grid] : shapes) {
    if (network.rotary.grid != RotaryGrid::kNone) {
      by_grid_.try_emplace(grid, RotaryTable(network.rotary, grid, tokens - grid.size()));
    } else if (!by_length_.contains(tokens)) {
      by_length_.emplace(tokens, RotaryTable(network.rotary, tokens));
      local_by_length_.emplace(tokens, RotaryTable(network.local_rotary, tokens));
      if (!bias.empty()) biases_.emplace(tokens, BiasTable(model, bias, causal, tokens));
    }
  }
}

const RotaryTable& PositionTables::rotary(const NetworkLayer& layer, const InputShape& shape) const {
  static const RotaryTable kNone;
  if (!layer.rotary || layer.block == Block::kCross) return kNone;
  if (!by_grid_.empty()) return by_grid_.at(shape.grid);
  return (layer.local_rotary ? local_by_length_ : by_length_).at(shape.tokens);
}

const BiasTable* PositionTables::bias(const NetworkLayer& layer, const InputShape& shape) const {
  return biases_.empty() || layer.block == Block::kCross ? nullptr : &biases_.at(shape.tokens);
}

}  // namespace headscope
