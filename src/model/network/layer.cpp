#include "model/network/layer.h"

#include <string>

#include "model/network/attention.h"
#include "model/network/mlp.h"
#include "model/network/score_positions.h"
#include "model/network/windows.h"

namespace headscope {
namespace {

void resolve_norms(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardNames& names = block.names;
  const std::size_t width = block.width;
  const bool pre = block.match.order == NormOrder::kPre;
  // OPT's post-norm model uses the same names.
  const std::string& after_attention =
      pre || !names.norm_after_attention.empty() ? names.norm_after_attention : block.layout.norm;
  const std::string& after_mlp = pre || !names.norm_after_mlp.empty() ? names.norm_after_mlp : names.mlp_norm;
  const bool shared = block.settings.parallel && names.mlp_norm_if_sequential;
  if (pre && block.heads(i).normed) layer.norm = block.layer_norm(block.layout.norm, i, width, /*required=*/true);
  if (pre && !shared && layer.has_mlp) layer.mlp_norm = block.layer_norm(names.mlp_norm, i, width, /*required=*/true);
  layer.norm_after_attention = block.layer_norm(after_attention, i, width, /*required=*/true);
  layer.norm_after_mlp = block.layer_norm(after_mlp, i, width, /*required=*/true);
}

void resolve_scales(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardNames& names = block.names;
  // Gemma's scale is a norm.
  if (!layer.norm_after_attention) layer.attention_scale = block.heads(i).output_scale;
  if (names.mlp_scale.empty()) return;
  const std::string name = block.tensors.named(names.mlp_scale, i);
  layer.mlp_scale = block.tensors.vector(name, block.width);
  if (layer.mlp_scale == nullptr && !block.layout.output_scale_optional) block.tensors.lacks(name);
}

TokenInput resolve_token_input(const BlockSource& block, const NetworkInput& in, std::size_t i) {
  const ForwardNames& names = block.names;
  const NetworkTensors& tensors = block.tensors;
  const std::size_t width = in.token_inputs->shape[1] / block.sizes.layers;
  return {tensors.linear(tensors.named(names.token_gate, i), block.width, width),
          tensors.linear(tensors.named(names.token_out, i), width, block.width),
          *block.layer_norm(names.token_out_norm, i, block.width, /*required=*/true)};
}

// What the configuration says of the scores of a layer.
void apply_settings(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardSettings& settings = block.settings;
  const ForwardRules& rules = block.match.family->forward;
  (rules.chunks ? layer.chunk : layer.window) = settings.windows[i];
  layer.rotary = settings.rotated[i];
  layer.growing_queries = !rules.tempered_queries || !layer.rotary;
  if (settings.bare_head_norms && layer.rotary) {
    layer.q_norm = layer.k_norm = StoredNorm{.kind = NormKind::kRmsNorm, .epsilon = settings.epsilon};
  }
  layer.local_rotary = layer.window > 0 && rules.local_rotary_base > 0;
  const double divisor = settings.scale_by_layer ? static_cast<double>(i + 1) : 1;
  layer.score_scale = static_cast<float>(settings.score_scale / divisor);
}

}  // namespace

NetworkLayer resolve_layer(const BlockSource& block, const NetworkInput& in, std::size_t i) {
  NetworkLayer layer;
  resolve_attention(block, i, layer);
  layer.block = block.block;
  layer.causal = block.causal();
  layer.has_mlp = block.block != Block::kDecoder;
  resolve_norms(block, i, layer);
  resolve_scales(block, i, layer);
  if (layer.has_mlp) resolve_mlp(block, block.match.stored(i), layer);
  if (in.token_inputs != nullptr) layer.token_input = resolve_token_input(block, in, i);
  if (!block.names.block_scale.empty()) {
    layer.block_scale = block.tensors.vector(block.tensors.named(block.names.block_scale, i), 1);
  }
  if (block.settings.relative) resolve_relative(block, i, layer);
  layer.bias = resolve_bias(block, i);
  layer.grid_bias = find_grid_bias(block, in, i);
  apply_settings(block, i, layer);
  resolve_windows(block, i, layer);
  return layer;
}

}  // namespace headscope
