#include "model/network/attention.h"

#include <array>
#include <optional>
#include <string>

namespace headscope {
namespace {

StoredLinear resolve_projection(const BlockSource& block, std::size_t i, Role role) {
  const Layout& layout = block.layout;
  const LayerTensors& heads = block.heads(i);
  const auto r = static_cast<std::size_t>(role);
  const bool fused = layout.fusion != Fusion::kNone;
  const bool is_key = layout.value_is_key && role == Role::kV && heads.slices[r].tensor == heads.slices[1].tensor;
  const std::array<const std::string*, 4> modules = {&layout.q, fused ? &layout.q : &layout.k,
                                                     fused ? &layout.q : &layout.v, &layout.o};
  const bool reads_latent = heads.latent && role != Role::kO && heads.latent->of(role).rank > 0;
  const std::size_t in = role == Role::kO ? block.sizes.heads * block.sizes.width(i, Role::kO)
                         : reads_latent   ? heads.latent->of(role).rank
                                          : block.width;
  return block.tensors.linear(block.tensors.named(is_key ? layout.k : *modules[r], i), in,
                              role == Role::kO ? block.width : 0, layout.storage);
}

LatentProjections resolve_latent(const BlockSource& block, std::size_t i, const LatentTensors& tensors) {
  const LatentNames& names = block.layout.latent;
  const auto inner_norm = [&](const std::string& module, std::size_t rank) {
    StoredNorm found = *block.layer_norm(module, i, rank, /*required=*/true);
    if (!block.checkpoint.is_gguf()) found.epsilon = 1e-6;  // whatever `rms_norm_eps` is
    return found;
  };
  const auto down = [&](const std::string& module, std::size_t out) {
    return block.tensors.linear(block.tensors.named(module, i), block.width, out);
  };
  LatentProjections latent;
  if (tensors.query.rank > 0) {
    latent.q_down = down(names.q_down, tensors.query.rank);
    latent.q_norm = inner_norm(names.q_norm, tensors.query.rank);
  }
  const std::size_t rank = tensors.key_value.rank;
  latent.kv_down = down(names.kv_down, rank + block.sizes.d_rotary);
  latent.kv_norm = inner_norm(names.kv_norm, rank);
  return latent;
}

// A norm whose gain has a row for each head.
std::optional<StoredNorm> norm_by_rows(const BlockSource& block, const std::string& module, const Shape& shape) {
  const StoredTensor* gain = block.tensors.find(module + ".weight");
  if (gain == nullptr || gain->shape != shape) return std::nullopt;
  return StoredNorm{.kind = block.match.family->norm,
                    .gain = block.tensors.readable(gain),
                    .offset = block.layout.norm_offset,
                    .epsilon = block.settings.epsilon};
}

// A norm of queries or keys, head by head or over all heads.
std::optional<StoredNorm> head_norm(const BlockSource& block, const std::string& pattern, std::size_t i,
                                    std::size_t heads, bool required) {
  const std::string module = block.tensors.named(pattern, i);
  const std::size_t d_head = block.sizes.width(i, Role::kK);
  const auto place = module.find("{h}");
  if (place == std::string::npos) {
    if (auto found = norm_by_rows(block, module, Shape{heads, d_head})) return found;
    return block.norm(module, (block.layout.joint_head_norms ? heads : 1) * d_head, required);
  }
  std::optional<StoredNorm> all;
  for (std::size_t head = 0; head < heads; ++head) {
    const auto one = block.norm(std::string(module).replace(place, 3, std::to_string(head)), d_head, required);
    if (!one) return std::nullopt;
    if (head == 0) all = one;
    if (head > 0) all->other_gains.push_back(one->gain);
    required = true;
  }
  return all;
}

}  // namespace

void resolve_attention(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardNames& names = block.names;
  const LayerTensors& heads = block.heads(i);
  if (!heads.missing.empty()) block.tensors.lacks_in_file(heads.missing.front());
  layer.slices = heads.slices;
  for (const Role role : kRoles) {
    if (block.sizes.heads_of(i, role) == 0) continue;
    layer.linear[static_cast<std::size_t>(role)] = resolve_projection(block, i, role);
  }
  const auto own_bias = [&](const std::string& pattern, Role role) -> const StoredTensor* {
    if (pattern.empty()) return nullptr;
    const std::string name = block.tensors.named(pattern, i);
    const StoredTensor* bias = block.tensors.vector(name, block.sizes.heads_of(i, role) * block.sizes.width(i, role));
    if (bias == nullptr) block.tensors.lacks(name);
    return bias;
  };
  layer.role_biases = {own_bias(names.q_bias, Role::kQ), nullptr, own_bias(names.v_bias, Role::kV)};
  layer.own_keys = block.sizes.kv_layer(i) == i;
  layer.gated_output = block.layout.query_gates;
  if (heads.latent) layer.latent = resolve_latent(block, i, *heads.latent);
  layer.q_norm = head_norm(block, block.layout.q_norm, i, block.sizes.heads, /*required=*/false);
  if (layer.own_keys) {
    layer.k_norm = head_norm(block, names.k_norm, i, block.sizes.heads_of(i, Role::kK), layer.q_norm.has_value());
    if (names.bare_value_norm) {
      layer.v_norm = StoredNorm{.kind = block.match.family->norm, .epsilon = block.settings.epsilon};
    }
  }
  if (!names.sinks.empty()) {
    layer.sinks = block.tensors.vector(block.tensors.named(names.sinks, i), block.sizes.heads);
    if (layer.sinks == nullptr) block.tensors.lacks(block.tensors.named(names.sinks, i));
  }
}

}  // namespace headscope
