#include "model/network/state_space.h"

#include <fmt/format.h>

#include <string>

#include "model/layer_names.h"

namespace headscope {
namespace {

// A vector, in GGUF also a matrix of one column; `size` 0 accepts any.
const StoredTensor* one_per_head(const BlockSource& block, const std::string& name, std::size_t size) {
  const StoredTensor* found = block.tensors.required(name);
  const Shape& shape = found->shape;
  const bool is_column = block.checkpoint.is_gguf() && shape.size() == 2 && shape[1] == 1;
  const bool fits = (shape.size() == 1 || is_column) && shape[0] > 0 && (size == 0 || shape[0] == size);
  if (!fits) block.tensors.wrong_shape(*found, size == 0 ? "a vector" : to_string(Shape{size}));
  return found;
}

// The norm of the output; in GGUF its gain has a row per group.
std::optional<StoredNorm> resolve_state_norm(const BlockSource& block, const std::string& module, std::size_t width,
                                             std::size_t groups) {
  const StoredTensor* gain = block.tensors.find(module + ".weight");
  const Shape by_group = {groups, width / groups};
  if (!block.checkpoint.is_gguf() || gain == nullptr || gain->shape != by_group) {
    return block.norm(module, width, /*required=*/true);
  }
  return StoredNorm{
      .kind = block.match.family->norm, .gain = block.tensors.readable(gain), .epsilon = block.settings.epsilon};
}

struct StateSizes {
  std::size_t groups;
  std::size_t states;
};

StateSizes state_sizes(const BlockSource& block, const ConfigReader& config) {
  if (!block.checkpoint.is_gguf()) {
    return {config.size({"mamba_n_groups", "n_groups"}).value_or(block.match.family->forward.state_groups),
            config.size({"mamba_d_state", "ssm_state_size"}).value_or(0)};
  }
  const auto stated = [&](const char* key) -> std::size_t {
    constexpr std::uint64_t kMax = 1'000'000'000;  // products of two of them do not overflow
    const auto value = block.checkpoint.metadata(fmt::format("{}.ssm.{}", block.match.gguf_keys, key));
    const std::uint64_t number = value ? value->as_unsigned().value_or(0) : 0;
    return number <= kMax ? static_cast<std::size_t>(number) : 0;
  };
  return {stated("group_count"), stated("state_size")};
}

}  // namespace

const StoredTensor* resolve_mixer_kernel(const BlockSource& block, std::size_t stored, std::size_t width) {
  const StoredTensor* found = block.tensors.required(layer_name(block.names.mixer.kernel, stored) + ".weight");
  const Shape& shape = found->shape;
  const bool is_matrix = shape.size() == 2 && block.checkpoint.is_gguf();
  const bool fits = (is_matrix || (shape.size() == 3 && shape[1] == 1)) && shape.front() == width && shape.back() > 0;
  if (!fits) block.tensors.wrong_shape(*found, fmt::format("[{}, 1, taps]", width));
  return found;
}

const StoredTensor* resolve_mixer_kernel_bias(const BlockSource& block, std::size_t stored, std::size_t width) {
  return block.tensors.vector(layer_name(block.names.mixer.kernel, stored) + ".bias", width);
}

SelectiveState resolve_selective_state(const BlockSource& block, std::size_t stored) {
  const MixerNames& names = block.names.mixer;
  const NetworkTensors& tensors = block.tensors;
  SelectiveState mixer;
  const std::string skip = layer_name(names.skip, stored);
  mixer.skip = one_per_head(block, skip, 0);
  const std::size_t width = mixer.skip->shape[0];
  mixer.in = tensors.linear(layer_name(names.in.front().front(), stored), block.width, 2 * width);
  mixer.kernel = resolve_mixer_kernel(block, stored, width);
  mixer.bias = resolve_mixer_kernel_bias(block, stored, width);
  mixer.decay = tensors.required(layer_name(names.decay, stored));
  if (mixer.decay->shape.size() != 2 || mixer.decay->shape[0] != width || mixer.decay->shape[1] == 0) {
    tensors.wrong_shape(*mixer.decay, fmt::format("[{}, states]", width));
  }
  const std::size_t states = mixer.decay->shape[1];
  const std::string step = layer_name(names.step, stored);
  const StoredTensor& weight = *tensors.required(step + ".weight");
  if (weight.shape.size() != 2) tensors.wrong_shape(weight, fmt::format("{} outputs", width));
  mixer.step = tensors.linear(step, weight.shape.back(), width);
  const std::size_t rank = mixer.step.in();
  mixer.select = tensors.linear(layer_name(names.select, stored), width, rank + 2 * states);
  const auto norm = [&](const std::string& pattern, std::size_t size) {
    return block.norm(layer_name(pattern, stored), size, /*required=*/true);
  };
  mixer.step_norm = norm(names.step_norm, rank);
  mixer.write_norm = norm(names.write_norm, states);
  mixer.read_norm = norm(names.read_norm, states);
  mixer.out = tensors.linear(layer_name(names.out, stored), width, block.width);
  return mixer;
}

GroupedState resolve_grouped_state(const BlockSource& block, const ConfigReader& config, std::size_t stored) {
  const MixerNames& names = block.names.mixer;
  const NetworkTensors& tensors = block.tensors;
  GroupedState mixer;
  mixer.decay = one_per_head(block, layer_name(names.decay, stored), 0);
  mixer.heads = mixer.decay->shape[0];
  mixer.skip = one_per_head(block, layer_name(names.skip, stored), mixer.heads);
  mixer.step_bias = one_per_head(block, layer_name(names.step_bias, stored), mixer.heads);
  const StateSizes sizes = state_sizes(block, config);
  mixer.groups = sizes.groups;
  mixer.states = sizes.states;
  const std::string out = layer_name(names.out, stored);
  const StoredTensor* weight = tensors.required(out + ".weight");
  const std::size_t width = weight->shape.size() == 2 ? weight->shape[1] : 0;
  if (mixer.groups == 0 || mixer.states == 0 || mixer.heads % mixer.groups != 0 || width % mixer.heads != 0) {
    config.malformed(fmt::format("{} heads of Mamba 2 in {} groups with {} states do not fit a width of {}",
                                 mixer.heads, mixer.groups, mixer.states, width));
  }
  mixer.out = tensors.linear(out, width, block.width);
  const std::size_t convolved = width + 2 * mixer.groups * mixer.states;
  mixer.in = tensors.linear(layer_name(names.in.front().front(), stored), block.width, width + convolved + mixer.heads);
  mixer.kernel = resolve_mixer_kernel(block, stored, convolved);
  mixer.bias = resolve_mixer_kernel_bias(block, stored, convolved);
  const ForwardRules& rules = block.match.family->forward;
  mixer.norm_first = config.boolean("mamba_norm_before_gate").value_or(rules.states_normed_first);
  if (config.boolean("mamba_rms_norm").value_or(rules.states_normed)) {
    mixer.norm = resolve_state_norm(block, layer_name(names.norm, stored), width, mixer.groups);
  }
  if (block.match.family->forward.states_normed_by_group) mixer.norm_groups = mixer.groups;
  mixer.min_step = static_cast<float>(block.match.family->forward.min_state_step);
  if (mixer.min_step > 0)
    mixer.min_step = static_cast<float>(config.positive({"time_step_min"}).value_or(mixer.min_step));
  return mixer;
}

}  // namespace headscope
