#include "forward/memory_plan.h"

#include <algorithm>

#include "forward/attention.h"
#include "forward/experts.h"
#include "forward/latent.h"
#include "forward/mixers/mixer.h"
#include "forward/mixers/state_space.h"
#include "forward/output.h"
#include "forward/window_attention.h"
#include "headscope/io/decode.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Bytes of the MLP's own rows.
std::size_t mlp_memory(const NetworkLayer& layer) {
  if (!layer.has_mlp) return 0;
  if (layer.experts) return expert_memory(*layer.experts).fixed;
  return kMlpRows * (layer.up.out() + (layer.gate ? layer.gate->out() : 0)) * sizeof(float);
}

std::size_t decoded_size(const StoredTensor* tensor) {
  if (tensor == nullptr || is_read_in_place(*tensor)) return 0;
  return static_cast<std::size_t>(element_count(tensor->shape).value_or(0)) * sizeof(float);
}

void add_tensors(const StoredExperts& experts, std::vector<const StoredTensor*>& all) {
  all.push_back(experts.router.correction);
  std::vector<const StoredLinear*> linears = {&experts.router.linear};
  if (experts.shared) {
    linears.insert(linears.end(), {&experts.shared->up, &experts.shared->down});
    if (experts.shared->gate) linears.push_back(&*experts.shared->gate);
    all.push_back(experts.shared->switched);
  }
  for (const StoredLinear* linear : linears) all.insert(all.end(), {linear->weight, linear->bias});
  for (const ExpertMatrix* matrix : {&experts.up, experts.gate ? &*experts.gate : nullptr, &experts.down}) {
    if (matrix == nullptr) continue;
    all.insert(all.end(), matrix->weights.begin(), matrix->weights.end());
    all.insert(all.end(), matrix->biases.begin(), matrix->biases.end());
  }
}

void add_tensors(const GroupedState& one, std::vector<const StoredTensor*>& all) {
  all.insert(all.end(), {one.in.weight, one.kernel, one.bias, one.decay, one.skip, one.step_bias, one.out.weight});
  if (one.norm) all.push_back(one.norm->gain);
}

}  // namespace

std::vector<const StoredLinear*> projections(const NetworkLayer& layer) {
  std::vector<const StoredLinear*> distinct;
  for (std::size_t r = 0; r < 3; ++r) {
    if (layer.linear[r].weight == nullptr) continue;  // another layer's keys and values are used
    const auto same = [&](const StoredLinear* other) { return other->weight == layer.linear[r].weight; };
    if (std::ranges::none_of(distinct, same)) distinct.push_back(&layer.linear[r]);
  }
  return distinct;
}

std::vector<const StoredTensor*> tensors_of(const NetworkLayer& layer) {
  std::vector<const StoredTensor*> all = {layer.attention_scale, layer.mlp_scale, layer.block_scale};
  if (layer.token_input) {
    const TokenInput& input = *layer.token_input;
    all.insert(all.end(), {input.gate.weight, input.out.weight, input.norm.gain, input.scale});
  }
  if (layer.low_rank) {
    all.insert(all.end(), {layer.low_rank->in.weight, layer.low_rank->out.weight, layer.low_rank->norm.gain});
  }
  if (layer.beside) add_tensors(*layer.beside, all);
  if (layer.update) {
    const StreamUpdate& update = *layer.update;
    all.insert(all.end(), {update.router.weight, update.router_norm.gain, update.prediction.weight});
    all.push_back(update.correction.weight);
  }
  for (const auto* one : {&layer.relative_key, &layer.relative_query}) {
    if (*one) all.insert(all.end(), {(*one)->weight, (*one)->bias});
  }
  all.insert(all.end(), layer.role_biases.begin(), layer.role_biases.end());
  all.insert(all.end(), {layer.content_bias, layer.position_bias, layer.grid_bias});
  all.insert(all.end(), {layer.window_bias.table, layer.score_factors});
  for (const auto* one : {&layer.window_bias.inner, &layer.window_bias.outer}) {
    if (*one) all.insert(all.end(), {(*one)->weight, (*one)->bias});
  }
  for (const StoredLinear& linear : layer.linear) all.insert(all.end(), {linear.weight, linear.bias});
  all.insert(all.end(), {layer.up.weight, layer.up.bias, layer.down.weight, layer.down.bias});
  all.push_back(layer.sinks);
  if (layer.experts) add_tensors(*layer.experts, all);
  if (layer.gate) all.insert(all.end(), {layer.gate->weight, layer.gate->bias});
  if (layer.latent) {
    const LatentProjections& latent = *layer.latent;
    all.insert(all.end(), {latent.kv_down.weight, latent.kv_down.bias, latent.kv_norm.gain});
    if (latent.q_down) all.insert(all.end(), {latent.q_down->weight, latent.q_down->bias, latent.q_norm->gain});
  }
  for (const auto* norm : {&layer.norm, &layer.q_norm, &layer.k_norm, &layer.norm_after_attention, &layer.mlp_norm,
                           &layer.norm_after_mlp}) {
    if (!*norm) continue;
    all.insert(all.end(), {(*norm)->gain, (*norm)->bias});
    all.insert(all.end(), (*norm)->other_gains.begin(), (*norm)->other_gains.end());
  }
  std::erase(all, nullptr);
  return all;
}

std::vector<const StoredTensor*> tensors_of(const MixerLayer& mixer) {
  std::vector<const StoredTensor*> all = tensors_of(mixer.block);
  if (mixer.convolution) {
    const ShortConvolution& one = *mixer.convolution;
    all.insert(all.end(), {one.in.weight, one.in.bias, one.kernel, one.bias, one.out.weight, one.out.bias});
  }
  if (mixer.delta) {
    const GatedDelta& one = *mixer.delta;
    for (const StoredLinear& in : one.in) all.push_back(in.weight);
    all.insert(all.end(), {one.kernel, one.decay, one.step_bias, one.norm.gain, one.out.weight});
  }
  if (mixer.selective) {
    const SelectiveState& one = *mixer.selective;
    all.insert(all.end(), {one.in.weight, one.kernel, one.bias, one.select.weight, one.step.weight, one.step.bias});
    all.insert(all.end(), {one.decay, one.skip, one.out.weight});
  }
  if (mixer.grouped) add_tensors(*mixer.grouped, all);
  std::erase(all, nullptr);
  return all;
}

MemoryPlan plan_memory(const Network& network, const HeadSizes& sizes, std::size_t longest) {
  // Stream, branch input, branch output, heads, sines and cosines.
  const std::size_t written = network.parallel ? 2 : 1;
  std::size_t floats = (2 + written) * sizes.d_model + sizes.heads * sizes.d_head;
  if (network.input.token_inputs != nullptr) floats += network.input.token_inputs->shape[1] + 2 * sizes.d_model;
  // The other streams, the main one before a block, and a copy of a row of each while they are mixed.
  if (!network.side_streams.in.empty()) floats += (2 * network.side_streams.in.size() + 2) * sizes.d_model;
  floats += network.rotary.width + network.local_rotary.width;
  if (!network.bias.empty()) floats += 2 * sizes.heads;
  // The output of the encoder; windows of audio, two frames per token.
  if (network.target) floats += sizes.d_model;
  for (const StoredLinear& one : network.input.convolutions) {
    floats += 2 * (sizes.d_model + one.weight->shape[1] * one.weight->shape[2]);
  }
  std::size_t projected = 0;
  std::size_t inside = 0;
  std::size_t routed = 0;
  std::size_t windows = 0;
  std::size_t matrix = decoded_size(network.output.unembedding ? network.output.unembedding->weight : nullptr);
  for (const NetworkLayer& layer : network.layers) {
    std::size_t width = 0;
    for (const StoredLinear* linear : projections(layer)) width += linear->out();
    if (layer.latent) width = latent_width(layer, sizes);
    if (layer.beside) width += grouped_state_width(*layer.beside);
    if (layer.v_norm) width += layer.linear[1].out();  // a copy, if values are keys
    projected = std::max(projected, width);
    inside = std::max(inside, mlp_memory(layer));
    if (!layer.patch_windows.empty()) {
      const std::size_t side = std::min(layer.patch_windows.side, longest);
      windows = std::max(windows, window_floats(side, std::min(side * side, longest), sizes));
    }
    if (layer.experts) routed = std::max(routed, expert_memory(*layer.experts).per_row);
    for (const StoredTensor* tensor : tensors_of(layer)) matrix = std::max(matrix, decoded_size(tensor));
  }
  for (const MixerLayer& mixer : network.mixers) {
    projected = std::max(projected, mixer_width(mixer));
    inside = std::max(inside, mlp_memory(mixer.block));
    if (mixer.block.experts) routed = std::max(routed, expert_memory(*mixer.block.experts).per_row);
    for (const StoredTensor* tensor : tensors_of(mixer)) matrix = std::max(matrix, decoded_size(tensor));
  }
  // Of each kind of layer, with and without a window, one lends its keys and values.
  const auto borrows = [](const NetworkLayer& layer) { return !layer.own_keys; };
  floats += (std::ranges::any_of(network.layers, borrows) ? 3 : 1) * projected;
  MemoryPlan plan;
  plan.per_token = floats * sizeof(float) + routed;
  plan.window = windows * sizeof(float);
  if (!network.relative.empty()) {
    plan.relative_rows = network.relative.sinusoidal ? longest : 2 * network.relative.span;
    matrix += 4 * plan.relative_rows * std::max(sizes.d_model, sizes.heads * sizes.d_head) * sizeof(float);
  }
  plan.fixed = matrix + inside + output_memory(network, output_rows(network, longest, 0));
  return plan;
}

EditsMemory edits_memory(const Network& network, const HeadSizes& sizes) {
  EditsMemory needed;
  std::size_t inside = 0;  // a latent, or all heads under a norm over all of them
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const NetworkLayer& layer = network.layers[i];
    std::size_t decoded = 0;
    for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
      decoded += decoded_size(layer.linear[static_cast<std::size_t>(role)].weight);
      if (const auto map = latent_map(layer, role)) {
        decoded += decoded_size(map->down->weight);
        inside = std::max(inside, map->rank);
      }
      if (network.joint_head_norms) inside = std::max(inside, sizes.heads_of(i, role) * sizes.width(i, role));
    }
    needed.fixed = std::max(needed.fixed, decoded);
  }
  needed.per_token = (sizes.d_model + inside) * sizeof(float);
  return needed;
}

std::size_t MemoryPlan::block(std::size_t tokens) const {
  // What a query or a key has in common with each relative position; a block has at most as many queries as keys.
  return window + block_memory(tokens) + 2 * relative_rows * tokens * sizeof(float);
}

std::size_t MemoryPlan::needed(std::size_t tokens) const {
  return fixed + per_token * tokens + block(tokens);
}

}  // namespace headscope
