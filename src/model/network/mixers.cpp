#include "model/network/mixers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "model/config_reader.h"
#include "model/layer_names.h"
#include "model/network/mlp.h"
#include "model/network/state_space.h"

namespace headscope {
namespace {

ShortConvolution resolve_convolution(const BlockSource& block, std::size_t stored) {
  const MixerNames& names = block.names.mixer;
  ShortConvolution mixer;
  mixer.in = block.tensors.linear(layer_name(names.in.front().front(), stored), block.width, 3 * block.width);
  mixer.kernel = resolve_mixer_kernel(block, stored, block.width);
  mixer.bias = resolve_mixer_kernel_bias(block, stored, block.width);
  mixer.out = block.tensors.linear(layer_name(names.out, stored), block.width, block.width);
  return mixer;
}

// The sizes of linear attention, which its tensors must fit.
GatedDelta delta_sizes(const ConfigReader& config, std::size_t width) {
  const auto size = [&](const char* key) {
    const std::size_t value = config.size({key}).value_or(0);
    if (value == 0 || value > width * 1024) config.malformed(fmt::format("'{}' is {}", key, value));
    return value;
  };
  GatedDelta mixer;
  mixer.key_heads = size("linear_num_key_heads");
  mixer.value_heads = size("linear_num_value_heads");
  mixer.d_key = size("linear_key_head_dim");
  mixer.d_value = size("linear_value_head_dim");
  if (mixer.value_heads % mixer.key_heads != 0) {
    config.malformed(fmt::format("{} value heads of linear attention are no multiple of {} key heads",
                                 mixer.value_heads, mixer.key_heads));
  }
  return mixer;
}

GatedDelta resolve_delta(const BlockSource& block, const ConfigReader& config, std::size_t stored) {
  const MixerNames& names = block.names.mixer;
  const NetworkTensors& tensors = block.tensors;
  GatedDelta mixer = delta_sizes(config, block.width);
  const std::size_t keys = mixer.key_heads * mixer.d_key;
  const std::size_t values = mixer.value_heads * mixer.d_value;
  const bool apart = tensors.find(layer_name(names.in.front().front(), stored) + ".weight") != nullptr;
  const std::vector<std::string>& modules = apart ? names.in.front() : names.in.back();
  const std::vector<std::size_t> outputs =
      modules.size() == 4 ? std::vector<std::size_t>{2 * keys + values, values, mixer.value_heads, mixer.value_heads}
                          : std::vector<std::size_t>{2 * keys + 2 * values, 2 * mixer.value_heads};
  for (std::size_t k = 0; k < modules.size(); ++k) {
    mixer.in.push_back(tensors.linear(layer_name(modules[k], stored), block.width, outputs[k]));
  }
  mixer.kernel = resolve_mixer_kernel(block, stored, 2 * keys + values);
  const auto by_head = [&](const std::string& pattern) {
    const std::string name = layer_name(pattern, stored);
    const StoredTensor* found = tensors.vector(name, mixer.value_heads);
    if (found == nullptr) tensors.lacks(name);
    return found;
  };
  mixer.decay = by_head(names.decay);
  mixer.step_bias = by_head(names.step_bias);
  mixer.norm = *block.norm(layer_name(names.norm, stored), mixer.d_value, /*required=*/true);
  mixer.norm.offset = 0;
  mixer.out = tensors.linear(layer_name(names.out, stored), values, block.width);
  return mixer;
}

// The first of the names that a mixer's input may have, in a layer of the file.
bool has_mixer(const BlockSource& block, std::size_t stored) {
  return std::ranges::any_of(block.names.mixer.in, [&](const std::vector<std::string>& form) {
    return block.tensors.find(layer_name(form.front(), stored) + ".weight") != nullptr;
  });
}

void resolve_kind(const BlockSource& block, const ConfigReader& config, std::size_t stored, MixerLayer& mixer) {
  switch (block.names.mixer.kind) {
    case MixerKind::kConvolution:
      mixer.convolution = resolve_convolution(block, stored);
      break;
    case MixerKind::kDelta:
      mixer.delta = resolve_delta(block, config, stored);
      break;
    case MixerKind::kSelectiveState:
      mixer.selective = resolve_selective_state(block, stored);
      break;
    case MixerKind::kGroupedState:
      mixer.grouped = resolve_grouped_state(block, config, stored);
      break;
  }
}

MixerLayer resolve_mixer(const BlockSource& block, const ConfigReader& config, std::size_t before, std::size_t stored) {
  MixerLayer mixer;
  mixer.before = before;
  const std::optional<StoredNorm> norm =
      block.norm(layer_name(block.layout.norm, stored), block.width, /*required=*/true);
  if (block.layout.one_branch && !has_mixer(block, stored)) {
    mixer.block.mlp_norm = norm;
    resolve_mlp(block, stored, mixer.block);
    return mixer;
  }
  mixer.block.norm = norm;
  resolve_kind(block, config, stored, mixer);
  mixer.block.has_mlp = !block.layout.one_branch;
  if (!mixer.block.has_mlp) return mixer;
  mixer.block.mlp_norm = block.norm(layer_name(block.names.mlp_norm, stored), block.width, /*required=*/true);
  resolve_mlp(block, stored, mixer.block);
  return mixer;
}

// The number of layers in the file, with and without attention.
std::size_t stated_layers(const BlockSource& block, const ConfigReader& config) {
  if (block.checkpoint.is_gguf()) {
    const auto value = block.checkpoint.metadata(block.match.gguf_keys + ".block_count");
    return static_cast<std::size_t>(value ? value->as_unsigned().value_or(0) : 0);
  }
  const Family& family = *block.match.family;
  const std::size_t listed = config.scope().find("layers_block_type").size();
  return config.size(family.keys.layers).value_or(listed);
}

}  // namespace

std::vector<MixerLayer> resolve_mixers(const BlockSource& block) {
  const FamilyMatch& match = block.match;
  const ConfigReader config(block.checkpoint, match.config);
  const std::size_t all = stated_layers(block, config);
  if (all < match.stored_layers.back() + 1 || all > block.checkpoint.tensors().size()) {
    config.malformed(fmt::format("says {} layers, but layer {} has attention", all, match.stored_layers.back()));
  }
  std::vector<MixerLayer> mixers;
  std::size_t before = 0;
  for (std::size_t stored = 0; stored < all; ++stored) {
    if (before < block.sizes.layers && match.stored(before) == stored) {
      ++before;
    } else {
      mixers.push_back(resolve_mixer(block, config, before, stored));
    }
  }
  return mixers;
}

}  // namespace headscope
