#include "headscope/apply/output_bias.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/model/family.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

const Family& family_of(const Model& model) {
  const auto families = known_families();
  const auto found = std::ranges::find(families, model.info().family, &Family::name);
  if (found == families.end()) {
    throw Error(ErrorKind::kUnsupported, fmt::format("no model family '{}'", printable(model.info().family)));
  }
  return *found;
}

OutputBias none(std::string why) {
  return {.kind = BiasKind::kNone, .why_not = std::move(why)};
}

}  // namespace

OutputBias find_output_bias(const Model& model) {
  const Network network = resolve_network(model);
  const auto has_bias = [](const StoredLinear& linear) { return linear.bias != nullptr; };
  const auto writes_bias = [&](const NetworkLayer& layer) {
    return has_bias(layer.linear[3]) && is_float(layer.linear[3].bias->dtype);
  };
  if (std::ranges::all_of(network.layers, writes_bias)) return {.kind = BiasKind::kStored};

  const Family& family = family_of(model);
  const Checkpoint& checkpoint = model.checkpoint();
  const auto has_any = [&](const NetworkLayer& layer) { return std::ranges::any_of(layer.linear, has_bias); };
  if (std::ranges::any_of(network.layers, has_any)) {
    return none(fmt::format("{} has biases, but not one for every output projection", family.name));
  }
  if (checkpoint.is_gguf()) {
    if (!family.gguf || !family.gguf->optional_biases) {
      return none(fmt::format("{} in GGUF has no bias of the output projection", family.name));
    }
    if (checkpoint.file_count() > 1) return none("a GGUF file in several parts states the number of its tensors");
    return {.kind = BiasKind::kAdded};
  }
  if (family.bias_key.empty()) return none(fmt::format("{} has no bias of the output projection", family.name));
  if (!model.info().tower.empty() ||
      (!family.nested_config.empty() && checkpoint.config().find(family.nested_config).is_object())) {
    return none(fmt::format("this {} is part of a larger model", family.name));
  }
  return {.kind = BiasKind::kAdded};
}

std::vector<std::vector<float>> biases_with(const Model& model, std::span<const HeadReplacement> replacements) {
  const Network network = resolve_network(model);
  const HeadSizes& sizes = model.info().sizes;
  std::vector<std::vector<const HeadReplacement*>> by_layer(sizes.layers);
  for (const HeadReplacement& one : replacements) {
    if (one.layer >= sizes.layers || one.head >= sizes.heads || one.value.size() != sizes.width(one.layer, Role::kO)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("there is no head {} of width {} in layer {}", one.head, one.value.size(), one.layer));
    }
    by_layer[one.layer].push_back(&one);
  }
  std::vector<std::vector<float>> biases;
  Buffer<float> scratch;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const StoredLinear& linear = network.layers[layer].linear[3];
    const HeadSlice& slice = network.layers[layer].slices[3];
    std::vector<float>& bias = biases.emplace_back(sizes.d_model);
    if (linear.bias != nullptr) bias = read_vector(model.checkpoint(), *linear.bias);
    if (by_layer[layer].empty()) continue;
    const std::span<const float> weights = read_weights(model.checkpoint(), *linear.weight, scratch);
    const std::size_t columns = linear.weight->shape[1];
    const bool across = linear.storage == Storage::kOutIn;  // a head is a range of columns
    for (std::size_t i = 0; i < sizes.d_model; ++i) {
      double sum = static_cast<double>(bias[i]);
      for (const HeadReplacement* one : by_layer[layer]) {
        const std::size_t first = slice.first_of(one->head);
        for (std::size_t j = 0; j < sizes.width(layer, Role::kO); ++j) {
          const float weight = across ? weights[i * columns + first + j] : weights[(first + j) * columns + i];
          sum += static_cast<double>(weight) * static_cast<double>(one->value[j]);
        }
      }
      bias[i] = static_cast<float>(sum);
    }
  }
  return biases;
}

}  // namespace headscope
