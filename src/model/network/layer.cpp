#include "model/network/layer.h"

#include <fmt/format.h>

#include <string>

#include "headscope/base/error.h"
#include "headscope/base/logistic.h"
#include "headscope/model/read_weights.h"
#include "model/config_reader.h"
#include "model/network/attention.h"
#include "model/network/mlp.h"
#include "model/network/score_positions.h"
#include "model/network/side_streams.h"
#include "model/network/state_space.h"
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
  TokenInput input{tensors.linear(tensors.named(names.token_gate, i), block.width, width),
                   tensors.linear(tensors.named(names.token_out, i), width, block.width),
                   *block.layer_norm(names.token_out_norm, i, block.width, /*required=*/true)};
  if (names.side_streams.output_scale.empty() || !block.settings.scaled_token_gate) return input;
  const std::string scale = tensors.named(names.side_streams.output_scale, i);
  input.scale = tensors.vector(scale, block.width);
  if (input.scale == nullptr) tensors.lacks(scale);
  return input;
}

void resolve_beside(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const FactorsByPlace& factors = block.settings.by_place;
  const ConfigReader config(block.checkpoint, block.match.config);
  layer.beside = resolve_grouped_state(block, config, block.match.stored(i));
  layer.beside->in_factors = factors.states;
  layer.beside->out_factor = factors.states_out;
  layer.attention_factor = factors.attention_out;
  layer.gate_factor = factors.gate;
  layer.mlp_factor = factors.mlp_out;
}

// The weights of a layer's activation; in GGUF they are lists in the metadata, one number per layer.
Xielu resolve_xielu(const BlockSource& block, std::size_t i) {
  const auto stated = block.match.config.find("hidden_act").as_string().value_or("xielu");
  if (stated != "xielu") block.tensors.unsupported(fmt::format("activation '{}'", printable(stated)));
  const auto stored = [&](const char* name) -> float {
    if (!block.checkpoint.is_gguf()) {
      const std::string full = block.tensors.named(block.names.activation_weights, i) + name;
      const StoredTensor& tensor = *block.tensors.required(full);
      if (element_count(tensor.shape) != 1) block.tensors.wrong_shape(tensor, "one number");
      return read_vector(block.checkpoint, tensor).front();
    }
    const std::string key = block.names.activation_weights + name;
    const auto value = block.checkpoint.metadata(key);
    if (!value) block.tensors.unsupported(fmt::format("lacks '{}'", key));
    const auto items = value->as_array();
    if (!items) return static_cast<float>(value->as_number().value_or(0));
    if (items->size() <= i) block.tensors.unsupported(fmt::format("'{}' has {} entries", key, items->size()));
    return static_cast<float>((*items)[i].as_number().value_or(0));
  };
  Xielu weights{.slope = stored("beta"), .limit = stored("eps")};
  weights.positive = softplus(stored("alpha_p"));
  weights.negative = weights.slope + softplus(stored("alpha_n"));
  return weights;
}

LowRankBranch resolve_low_rank(const BlockSource& block, std::size_t i) {
  const ForwardNames& names = block.names;
  LowRankBranch branch;
  branch.in = block.tensors.linear(block.tensors.named(names.low_rank_in, i), block.width, 0);
  branch.out = block.tensors.linear(block.tensors.named(names.low_rank_out, i), branch.in.out(), block.width);
  branch.norm = *block.layer_norm(names.low_rank_norm, i, block.width, /*required=*/true);
  return branch;
}

// What the configuration says of the scores of a layer.
void apply_settings(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardSettings& settings = block.settings;
  const ForwardRules& rules = block.match.family->forward;
  (rules.chunks ? layer.chunk : layer.window) = settings.windows[i];
  if (!settings.gate_cutoffs.empty()) layer.gate_cutoff = settings.gate_cutoffs[i];
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
  layer.has_mlp = block.block != Block::kDecoder && !block.layout.one_branch;
  resolve_norms(block, i, layer);
  resolve_scales(block, i, layer);
  if (layer.has_mlp) resolve_mlp(block, block.match.stored(i), layer);
  if (in.token_inputs != nullptr) layer.token_input = resolve_token_input(block, in, i);
  if (block.names.mixer.beside_attention) resolve_beside(block, i, layer);
  if (!block.names.activation_weights.empty()) layer.xielu = resolve_xielu(block, i);
  if (!block.names.low_rank_in.empty()) layer.low_rank = resolve_low_rank(block, i);
  if (!block.names.side_streams.router.empty()) layer.update = resolve_stream_update(block, i);
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
