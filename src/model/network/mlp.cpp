#include "model/network/mlp.h"

#include <string>

#include "model/config_reader.h"
#include "model/expert_tensors.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

// The router's module; empty if the layer has none.
std::string find_router(const BlockSource& block, std::size_t stored) {
  for (const std::string& pattern : block.names.experts.routers) {
    std::string module = layer_name(pattern, stored);
    if (block.tensors.find(module + ".weight") != nullptr) return module;
  }
  return "";
}

// What the router adds to the scores of the experts; nullptr if the model has none.
const StoredTensor* find_correction(const BlockSource& block, std::size_t stored, std::size_t count) {
  const ExpertNames& names = block.names.experts;
  const ConfigReader config(block.checkpoint, block.match.config);
  if (!names.correction_key.empty() && !config.boolean(names.correction_key).value_or(true)) return nullptr;
  for (const std::string& pattern : names.corrections) {
    if (const StoredTensor* found = block.tensors.row(layer_name(pattern, stored), count)) return found;
  }
  if (names.corrections.empty() || names.correction_optional) return nullptr;
  block.tensors.lacks(layer_name(names.corrections.front(), stored));
}

// A matrix that holds the gate and `up`.
void require_two_halves(const NetworkTensors& tensors, const StoredLinear& both) {
  if (both.out() % 2 != 0) tensors.wrong_shape(*both.weight, "an even number of outputs");
}

SharedExpert resolve_shared_expert(const BlockSource& block, std::size_t stored) {
  const ExpertNames& names = block.names.experts;
  const NetworkTensors& tensors = block.tensors;
  SharedExpert shared;
  shared.up = tensors.linear(layer_name(names.shared_up, stored), block.width, 0);
  shared.gate_in_up = names.shared_fused;
  if (shared.gate_in_up) require_two_halves(tensors, shared.up);
  const std::size_t hidden = shared.gate_in_up ? shared.up.out() / 2 : shared.up.out();
  if (!names.shared_gate.empty()) {
    shared.gate = tensors.linear(layer_name(names.shared_gate, stored), block.width, hidden);
  }
  shared.down = tensors.linear(layer_name(names.shared_down, stored), hidden, block.width);
  if (names.shared_switch.empty()) return shared;
  shared.switched = tensors.readable(layer_name(names.shared_switch, stored) + ".weight");
  const Shape row = {1, block.width};
  if (shared.switched != nullptr && shared.switched->shape != row && shared.switched->shape != Shape{block.width}) {
    tensors.wrong_shape(*shared.switched, to_string(row));
  }
  return shared;
}

StoredExperts resolve_experts(const BlockSource& block, const std::string& router, std::size_t stored) {
  const ExpertNames& names = block.names.experts;
  const NetworkTensors& tensors = block.tensors;
  StoredExperts result = expert_settings(block.checkpoint, block.match, stored);
  result.router.linear = tensors.linear(router, block.width, 0);
  const std::size_t count = result.router.linear.out();
  check_router(block.checkpoint, result.router, count);
  result.router.correction = find_correction(block, stored, count);
  find_experts({.checkpoint = block.checkpoint,
                .named = [&](const std::string& pattern) { return layer_name(pattern, stored); },
                .find = [&](const std::string& name) { return tensors.readable(name); },
                .lacks = [&](const std::string& name) { tensors.lacks(name); }},
               names, count, block.width, result);
  const bool shares =
      !names.shared_up.empty() && tensors.find(layer_name(names.shared_up, stored) + ".weight") != nullptr;
  if (shares) result.shared = resolve_shared_expert(block, stored);
  return result;
}

std::size_t inputs_of(const StoredTensor& weight, Storage storage) {
  return weight.shape.size() == 2 ? weight.shape[storage == Storage::kOutIn ? 1 : 0] : 0;
}

// The first of the family's forms that the file has, if possible with a first tensor that reads the stream.
const MlpNames& find_form(const BlockSource& block, std::size_t stored) {
  const auto weight = [&](const std::string& pattern) { return layer_name(pattern, stored) + ".weight"; };
  if (block.names.mlp.empty()) block.tensors.lacks(weight(block.names.experts.routers.front()));
  const MlpNames* found = nullptr;
  for (const MlpNames& form : block.names.mlp) {
    const StoredTensor* first = block.tensors.find(weight(form.gate.empty() ? form.up : form.gate));
    if (first == nullptr) continue;
    if (inputs_of(*first, block.layout.storage) == block.width) return form;
    if (found == nullptr) found = &form;
  }
  if (found != nullptr) return *found;
  block.tensors.lacks(weight(block.names.mlp.front().up));
}

}  // namespace

void resolve_mlp(const BlockSource& block, std::size_t stored, NetworkLayer& layer) {
  if (const std::string router = find_router(block, stored); !router.empty()) {
    layer.experts = resolve_experts(block, router, stored);
    return;
  }
  const MlpNames& form = find_form(block, stored);
  const auto linear = [&](const std::string& pattern, std::size_t in, std::size_t out) {
    return block.tensors.linear(layer_name(pattern, stored), in, out, block.layout.storage);
  };
  layer.up = linear(form.up, block.width, 0);
  layer.gate_in_up = form.fused;
  if (form.fused) require_two_halves(block.tensors, layer.up);
  const std::size_t hidden = form.fused ? layer.up.out() / 2 : layer.up.out();
  if (!form.gate.empty()) layer.gate = linear(form.gate, block.width, hidden);
  layer.down = linear(form.down, hidden, block.width);
}

}  // namespace headscope
