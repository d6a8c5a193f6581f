#include "model/expert_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "model/block_scale.h"
#include "model/config_reader.h"

namespace headscope {
namespace {

constexpr std::string_view kPlaceholder = "{e}";
constexpr std::string_view kWeight = ".weight";

bool is_stacked(const std::string& name) {
  return name.find(kPlaceholder) == std::string::npos;
}

std::string of_expert(std::string pattern, std::size_t expert) {
  return pattern.replace(pattern.find(kPlaceholder), kPlaceholder.size(), std::to_string(expert));
}

std::string bias_of(const std::string& stacked) {
  const bool is_weight = stacked.ends_with(kWeight);
  return is_weight ? stacked.substr(0, stacked.size() - kWeight.size()) + ".bias" : stacked + "_bias";
}

// The part of a stacked tensor that belongs to one expert: it shares the bytes.
StoredTensor slice(const StoredTensor& stacked, std::size_t expert) {
  StoredTensor part;
  part.name = fmt::format("{}[{}]", stacked.name, expert);
  part.dtype = stacked.dtype;
  part.shape.assign(stacked.shape.begin() + 1, stacked.shape.end());
  const std::size_t bytes = stacked.bytes.size() / stacked.shape[0];
  part.bytes = stacked.bytes.subspan(expert * bytes, bytes);
  if (stacked.packed == nullptr) return part;
  const std::size_t first_row = expert * part.shape[0];
  part.packed = std::make_shared<PackedWeight>(
      PackedWeight{.parts = stacked.packed->parts,
                   .read = [whole = stacked.packed, first_row](std::size_t row, std::size_t first,
                                                               std::span<float> values, std::span<float> spacings) {
                     whole->read(first_row + row, first, values, spacings);
                   }});
  return part;
}

// The matrices of one place of the MLP.
class Finder {
 public:
  Finder(const ExpertSearch& search, std::size_t experts) : search_(search), experts_(experts) {}

  // `in` or `out` 0 accepts any.
  [[nodiscard]] ExpertMatrix matrix(const std::string& pattern, Storage storage, std::size_t in,
                                    std::size_t out) const {
    ExpertMatrix result = is_stacked(pattern) ? stacked(pattern, storage) : separate(pattern, storage);
    const StoredLinear first = result.at(0);
    in = in == 0 ? first.in() : in;
    out = out == 0 ? first.out() : out;
    for (std::size_t e = 0; e < experts_; ++e) {
      const StoredLinear one = result.at(e);
      if (one.in() != in || one.out() != out || in == 0 || out == 0) {
        wrong_shape(*one.weight, fmt::format("{} inputs and {} outputs", in, out));
      }
      if (one.bias != nullptr && one.bias->shape != Shape{out}) wrong_shape(*one.bias, to_string(Shape{out}));
    }
    return result;
  }

 private:
  [[noreturn]] void wrong_shape(const StoredTensor& tensor, const std::string& expected) const {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: tensor '{}' is {}, expected {}", search_.checkpoint.file_of(tensor).string(),
                            printable(tensor.name), to_string(tensor.shape), expected));
  }

  [[nodiscard]] const StoredTensor& need(const std::string& name) const {
    const StoredTensor* tensor = search_.find(name);
    if (tensor == nullptr) search_.lacks(name);
    if (const std::string scale = missing_block_scale(search_.checkpoint, *tensor); !scale.empty())
      search_.lacks(scale);
    return *tensor;
  }

  [[nodiscard]] ExpertMatrix separate(const std::string& pattern, Storage storage) const {
    ExpertMatrix result;
    result.storage = storage;
    for (std::size_t e = 0; e < experts_; ++e) {
      const std::string module = of_expert(pattern, e);
      const StoredTensor& weight = need(module + std::string(kWeight));
      if (weight.shape.size() != 2) wrong_shape(weight, "a matrix");
      result.weights.push_back(&weight);
      // A bias of only some experts would be an error of the file.
      if (e > 0 && result.biases.empty()) continue;
      const StoredTensor* bias = search_.find(module + ".bias");
      if (bias != nullptr) result.biases.push_back(bias);
      if (bias == nullptr && e > 0) search_.lacks(module + ".bias");
    }
    return result;
  }

  [[nodiscard]] ExpertMatrix stacked(const std::string& name, Storage storage) const {
    const StoredTensor& all = need(name);
    if (all.shape.size() != 3 || all.shape[0] != experts_ || element_count(all.shape).value_or(0) == 0) {
      wrong_shape(all, fmt::format("[{}, ., .]", experts_));
    }
    if (find_block_scale(search_.checkpoint, all) != nullptr) {
      throw Error(
          ErrorKind::kUnsupported,
          fmt::format("{}: tensor '{}' has FP8 block factors for all experts together, which headscope does not "
                      "read; relate works",
                      search_.checkpoint.file_of(all).string(), printable(all.name)));
    }
    const StoredTensor* bias = search_.find(bias_of(name));
    if (bias != nullptr && (bias->shape.size() != 2 || bias->shape[0] != experts_)) {
      wrong_shape(*bias, fmt::format("[{}, .]", experts_));
    }
    std::vector<StoredTensor> slices;
    for (std::size_t e = 0; e < experts_; ++e) slices.push_back(slice(all, e));
    for (std::size_t e = 0; e < experts_ && bias != nullptr; ++e) slices.push_back(slice(*bias, e));
    ExpertMatrix result;
    result.storage = all.packed != nullptr ? Storage::kOutIn : storage;
    result.slices = std::make_shared<const std::vector<StoredTensor>>(std::move(slices));
    for (const StoredTensor& one : *result.slices) {
      (result.weights.size() < experts_ ? result.weights : result.biases).push_back(&one);
    }
    return result;
  }

  const ExpertSearch& search_;
  std::size_t experts_;
};

// Whether the stream is on the right side of a form's stacked matrices, which may be stored either way round.
bool fits(const ExpertSearch& search, const ExpertForm& form, std::size_t width) {
  const bool out_in = form.storage == Storage::kOutIn;
  const auto has_stream = [&](const std::string& pattern, std::size_t axis) {
    const StoredTensor* tensor = is_stacked(pattern) ? search.find(search.named(pattern)) : nullptr;
    return tensor == nullptr || tensor->shape.size() != 3 || tensor->shape[axis] == width;
  };
  return has_stream(form.up, out_in ? 2 : 1) && has_stream(form.down, out_in ? 1 : 2);
}

// The number of experts per token, which may be listed by layer (HunYuan).
std::size_t chosen_in(const ConfigReader& config, std::size_t stored, std::size_t by_default) {
  for (const std::string key : {"num_experts_per_tok", "moe_k", "moe_topk"}) {
    const JsonValue list = config.scope().find(key);
    if (!list.is_array()) {
      if (const auto one = config.size({key})) return *one;
      continue;
    }
    constexpr std::uint64_t kMost = 1'000'000;
    std::vector<std::uint64_t> by_layer;
    for (const JsonValue item : list.items()) by_layer.push_back(std::min(item.as_unsigned().value_or(0), kMost));
    if (stored < by_layer.size()) return static_cast<std::size_t>(by_layer[stored]);
    config.malformed(fmt::format("'{}' has {} entries, but there is a layer {}", key, by_layer.size(), stored));
  }
  return by_default;
}

void read_config(const ConfigReader& config, const RouterRules& rules, std::size_t stored, StoredExperts& result) {
  Router& router = result.router;
  router.chosen = chosen_in(config, stored, rules.chosen);
  // HunYuan has `false` for one group.
  const bool ungrouped = !config.scope().find("n_group").as_bool().value_or(true);
  router.groups = ungrouped ? 1 : config.size({"n_group"}).value_or(1);
  router.chosen_groups = config.size({"topk_group"}).value_or(1);
  if (config.word({"topk_method"}).value_or("") == "greedy") router.groups = router.chosen_groups = 1;
  if (rules.stated) router.normalized = config.boolean("norm_topk_prob").value_or(rules.normalized);
  router.scaling = static_cast<float>(config.positive({"routed_scaling_factor"}).value_or(rules.scaling));
  if (router.score == RouterScore::kSparseMixer) {
    router.tolerance = static_cast<float>(2 * config.positive({"router_jitter_noise"}).value_or(0.01));
  }
  if (rules.gate_limit <= 0) return;
  result.gate_limit = static_cast<float>(config.positive({"swiglu_limit"}).value_or(rules.gate_limit));
  result.gate_slope = static_cast<float>(config.positive({"swiglu_alpha"}).value_or(rules.gate_slope));
}

void read_metadata(const Checkpoint& checkpoint, const std::string& prefix, const RouterRules& rules,
                   StoredExperts& result) {
  const auto find = [&](const char* key) { return checkpoint.metadata(fmt::format("{}.{}", prefix, key)); };
  const auto size = [&](const char* key, std::size_t by_default) {
    const auto value = find(key);
    const auto number = value ? value->as_unsigned() : by_default;
    if (!number || *number > 1'000'000) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: '{}.{}' is not a number of experts", checkpoint.path().string(),
                                                  printable(prefix), key));
    }
    return static_cast<std::size_t>(*number);
  };
  Router& router = result.router;
  router.chosen = size("expert_used_count", rules.chosen);
  router.groups = std::max<std::size_t>(size("expert_group_count", 1), 1);
  router.chosen_groups = std::max<std::size_t>(size("expert_group_used_count", 1), 1);
  router.normalized = rules.normalized_in_gguf;
  if (const auto stated = find("expert_weights_norm"))
    router.normalized = stated->as_bool().value_or(router.normalized);
  const auto scaling = find("expert_weights_scale");
  const double factor = scaling ? scaling->as_number().value_or(0) : rules.scaling;
  router.scaling = factor > 0 && factor < 1e6 ? static_cast<float>(factor) : 1;
  result.gate_limit = static_cast<float>(rules.gate_limit);
  result.gate_slope = static_cast<float>(rules.gate_slope);
  // llama.cpp's numbers: 1 softmax, 2 sigmoid, 3 softmax of those chosen.
  const std::size_t gating = size("expert_gating_func", 0);
  if (gating == 2) router.score = RouterScore::kSigmoid;
  if (gating == 1 || gating == 3) router.score = RouterScore::kSoftmax;
  if (gating == 3) router.normalized = true;
  if (gating > 3) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: routing function {}; headscope cannot run this model, but "
                                                     "relate works",
                                                     checkpoint.path().string(), gating));
  }
}

}  // namespace

StoredExperts expert_settings(const Checkpoint& checkpoint, const FamilyMatch& match, std::size_t stored) {
  const RouterRules& rules = match.family->forward.router;
  StoredExperts result;
  result.router.score = rules.score;
  result.router.normalized = rules.normalized;
  result.router.best_of_group = rules.best_of_group;
  result.weighs_input = rules.weighs_input;
  if (checkpoint.is_gguf()) {
    read_metadata(checkpoint, match.gguf_keys, rules, result);
  } else {
    read_config(ConfigReader(checkpoint, match.config), rules, stored, result);
  }
  return result;
}

void check_router(const Checkpoint& checkpoint, const Router& router, std::size_t experts) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {}", checkpoint.config_path().string(), what));
  };
  if (router.groups == 0 || experts % router.groups != 0 || router.chosen_groups == 0 ||
      router.chosen_groups > router.groups) {
    fail(fmt::format("says that {} of {} groups of experts are used, but there are {} experts", router.chosen_groups,
                     router.groups, experts));
  }
  const std::size_t eligible = experts / router.groups * router.chosen_groups;
  if (router.chosen == 0 || router.chosen > eligible) {
    fail(fmt::format("says that a token uses {} experts, expected 1 to {}", router.chosen, eligible));
  }
  if (router.groups > 1 && !router.best_of_group && experts / router.groups < 2) {
    fail(fmt::format("has {} experts in {} groups, expected at least 2 per group", experts, router.groups));
  }
  if (router.score == RouterScore::kSparseMixer && router.chosen != 2) {
    fail(fmt::format("says that a token uses {} experts, but this family's router chooses 2", router.chosen));
  }
}

void find_experts(const ExpertSearch& search, const ExpertNames& names, std::size_t experts, std::size_t width,
                  StoredExperts& result) {
  const ExpertForm* chosen = nullptr;
  std::string first;
  for (const ExpertForm& form : names.forms) {
    const std::string up = search.named(form.up);
    const std::string name = is_stacked(up) ? up : of_expert(up, 0) + std::string(kWeight);
    if (first.empty()) first = name;
    if (search.find(name) == nullptr) continue;
    if (chosen == nullptr || (!fits(search, *chosen, width) && fits(search, form, width))) chosen = &form;
  }
  if (chosen == nullptr) {
    search.lacks(first);
    return;
  }
  const Finder finder(search, experts);
  const Storage storage = chosen->storage;
  result.gate_rows = chosen->gate_rows;
  result.up = finder.matrix(search.named(chosen->up), storage, width, 0);
  const std::size_t out = result.up.at(0).out();
  const bool both = chosen->gate_rows != GateRows::kSeparate;
  if (both && out % 2 != 0) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: tensor '{}' has {} outputs, expected an even number",
                            search.checkpoint.path().string(), printable(result.up.at(0).weight->name), out));
  }
  const std::size_t hidden = both ? out / 2 : out;
  if (!chosen->gate.empty()) result.gate = finder.matrix(search.named(chosen->gate), storage, width, hidden);
  result.down = finder.matrix(search.named(chosen->down), storage, hidden, width);
}

}  // namespace headscope
