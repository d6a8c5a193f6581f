#include "forward/memory_plan.h"

#include <algorithm>

#include "forward/attention.h"
#include "forward/output.h"
#include "headscope/io/decode.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::size_t hidden_width(const NetworkLayer& layer) {
  if (!layer.has_mlp) return 0;
  return layer.up.out() + (layer.gate ? layer.gate->out() : 0);
}

std::size_t decoded_size(const StoredTensor* tensor) {
  if (tensor == nullptr || is_read_in_place(*tensor)) return 0;
  return static_cast<std::size_t>(element_count(tensor->shape).value_or(0)) * sizeof(float);
}

}  // namespace

std::vector<const StoredLinear*> projections(const NetworkLayer& layer) {
  std::vector<const StoredLinear*> distinct;
  for (std::size_t r = 0; r < 3; ++r) {
    const auto same = [&](const StoredLinear* other) { return other->weight == layer.linear[r].weight; };
    if (std::ranges::none_of(distinct, same)) distinct.push_back(&layer.linear[r]);
  }
  return distinct;
}

std::vector<const StoredTensor*> tensors_of(const NetworkLayer& layer) {
  std::vector<const StoredTensor*> all = {layer.attention_scale, layer.mlp_scale};
  for (const auto* one : {&layer.relative_key, &layer.relative_query}) {
    if (*one) all.insert(all.end(), {(*one)->weight, (*one)->bias});
  }
  all.insert(all.end(), {layer.content_bias, layer.position_bias});
  for (const StoredLinear& linear : layer.linear) all.insert(all.end(), {linear.weight, linear.bias});
  all.insert(all.end(), {layer.up.weight, layer.up.bias, layer.down.weight, layer.down.bias});
  if (layer.gate) all.insert(all.end(), {layer.gate->weight, layer.gate->bias});
  for (const auto* norm : {&layer.norm, &layer.q_norm, &layer.k_norm, &layer.norm_after_attention, &layer.mlp_norm,
                           &layer.norm_after_mlp}) {
    if (!*norm) continue;
    all.insert(all.end(), {(*norm)->gain, (*norm)->bias});
    all.insert(all.end(), (*norm)->other_gains.begin(), (*norm)->other_gains.end());
  }
  std::erase(all, nullptr);
  return all;
}

MemoryPlan plan_memory(const Network& network, const HeadSizes& sizes, std::size_t longest) {
  // Stream, branch input, branch output, heads, sines and cosines.
  const std::size_t written = network.parallel ? 2 : 1;
  std::size_t floats = (2 + written) * sizes.d_model + sizes.heads * sizes.d_head;
  floats += network.rotary.width + network.local_rotary.width;
  if (!network.bias.empty()) floats += 2 * sizes.heads;
  // The output of the encoder; windows of audio, two frames per token.
  if (network.target) floats += sizes.d_model;
  for (const StoredLinear& one : network.input.convolutions) {
    floats += 2 * (sizes.d_model + one.weight->shape[1] * one.weight->shape[2]);
  }
  std::size_t projected = 0;
  std::size_t inside = 0;
  std::size_t matrix = decoded_size(network.output.unembedding ? network.output.unembedding->weight : nullptr);
  for (const NetworkLayer& layer : network.layers) {
    std::size_t width = 0;
    for (const StoredLinear* linear : projections(layer)) width += linear->out();
    projected = std::max(projected, width);
    inside = std::max(inside, hidden_width(layer));
    for (const StoredTensor* tensor : tensors_of(layer)) matrix = std::max(matrix, decoded_size(tensor));
  }
  floats += projected;
  MemoryPlan plan;
  plan.per_token = floats * sizeof(float);
  if (!network.relative.empty()) {
    plan.relative_rows = network.relative.sinusoidal ? longest : 2 * network.relative.span;
    matrix += 4 * plan.relative_rows * std::max(sizes.d_model, sizes.heads * sizes.d_head) * sizeof(float);
  }
  plan.fixed = matrix + kMlpRows * inside * sizeof(float) + output_memory(network, output_rows(network, longest, 0));
  return plan;
}

std::size_t MemoryPlan::block(std::size_t tokens) const {
  // What a query or a key has in common with each relative position; a block has at most as many queries as keys.
  return block_memory(tokens) + 2 * relative_rows * tokens * sizeof(float);
}

std::size_t MemoryPlan::needed(std::size_t tokens) const {
  return fixed + per_token * tokens + block(tokens);
}

}  // namespace headscope
