#include "model/network/windows.h"

#include <fmt/format.h>

#include <string>

namespace headscope {
namespace {

const StoredTensor* bias_table(const BlockSource& block, std::size_t i, std::size_t side) {
  const StoredTensor* table = block.tensors.required(block.tensors.named(block.names.window_bias, i));
  const Shape expected = {(2 * side - 1) * (2 * side - 1), block.sizes.heads};
  if (table->shape != expected) block.tensors.wrong_shape(*table, to_string(expected));
  return table;
}

StoredWindowBias resolve_bias(const BlockSource& block, std::size_t i, std::size_t side) {
  const NetworkTensors& tensors = block.tensors;
  const ForwardNames& names = block.names;
  StoredWindowBias bias;
  if (!names.window_bias.empty()) bias.table = bias_table(block, i, side);
  if (names.window_bias_inner.empty()) return bias;
  bias.inner = tensors.linear(tensors.named(names.window_bias_inner, i), 2, 0);
  bias.outer = tensors.linear(tensors.named(names.window_bias_outer, i), bias.inner->out(), block.sizes.heads);
  bias.trained_side = block.settings.trained_window > 0 ? block.settings.trained_window : side;
  return bias;
}

void resolve_cosines(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  layer.score_factors = block.tensors.required(block.tensors.named(block.names.score_factors, i));
  if (element_count(layer.score_factors->shape) != block.sizes.heads) {
    block.tensors.wrong_shape(*layer.score_factors, fmt::format("{} numbers", block.sizes.heads));
  }
  // A vector over its root mean square is sqrt(d_head) times one of length 1.
  layer.q_norm = layer.k_norm = StoredNorm{.kind = NormKind::kRmsNorm, .epsilon = 1e-24};
  layer.score_scale = 1 / static_cast<float>(block.sizes.d_head);
}

}  // namespace

void resolve_windows(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  if (!block.settings.patch_windows.empty()) {
    layer.patch_windows = block.settings.patch_windows[i];
    layer.window_bias = resolve_bias(block, i, layer.patch_windows.side);
  }
  if (!block.names.score_factors.empty()) resolve_cosines(block, i, layer);
}

}  // namespace headscope
