#include "model/find_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/spelling.h"
#include "headscope/model/family_table.h"
#include "model/attention_names.h"
#include "model/config_reader.h"
#include "model/fitting_families.h"
#include "model/layer_names.h"
#include "model/towers.h"

namespace headscope {
namespace {

// Returns e.g. "its tensors fit roberta: try --family roberta", or the nearest known name if none fits.
std::string hint(std::span<const FamilyFit> fitting, std::string_view stated, std::optional<Modality> modality) {
  constexpr std::size_t kMaxNamed = 3;
  if (!fitting.empty()) {
    std::vector<std::string_view> best;
    for (const FamilyFit& fit : fitting) {
      if (fit.missing == fitting.front().missing && best.size() < kMaxNamed) best.push_back(fit.family->name);
    }
    return fmt::format("its tensors match {}; try --family {}", fmt::join(best, ", "), best.front());
  }
  const Family* nearest = nearest_family(stated);
  if (nearest != nullptr && nearest->modality != modality.value_or(nearest->modality)) nearest = nullptr;
  return fmt::format("{}'headscope families' lists all",
                     nearest != nullptr ? fmt::format("the nearest known is {}; ", nearest->name) : "");
}

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& found, std::span<const FamilyFit> fitting,
                         std::string_view stated = {}, std::optional<Modality> modality = {}) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: {}; {}; tensors that look like attention: {}", checkpoint.config_path().string(), found,
                          hint(fitting, stated, modality), attention_looking_tensors(checkpoint)));
}

// `stated` is what the file calls itself.
[[noreturn]] void unknown(const Checkpoint& checkpoint, const std::string& found, std::string_view stated = {}) {
  refuse(checkpoint, found, fitting_families(checkpoint, stated), stated);
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Two towers of a model may have its model_type; the text tower counts, unless the input is given.
const Family* by_model_type(std::string_view model_type, std::optional<Modality> modality = {}) {
  const Family* found = nullptr;
  for (const Family& family : known_families()) {
    if (!contains(family.model_types, model_type) || family.modality != modality.value_or(family.modality)) continue;
    if (found == nullptr || family.modality == Modality::kText) found = &family;
  }
  return found;
}

const Family* family_of_tower(const Checkpoint& checkpoint, const Tower& tower) {
  for (const JsonValue scope : {tower.config, checkpoint.config()}) {
    if (const auto type = scope.find("model_type").as_string()) return by_model_type(*type, tower.modality);
  }
  return nullptr;
}

// "stage1" is 0; nothing for another word.
std::optional<std::size_t> stage_of(std::string_view tower) {
  constexpr std::string_view kStage = "stage";
  if (!tower.starts_with(kStage)) return std::nullopt;
  tower.remove_prefix(kStage.size());
  if (tower.size() != 1 || tower.front() < '1' || tower.front() > '9') return std::nullopt;
  return static_cast<std::size_t>(tower.front() - '1');
}

// Returns the tower of that name; nullptr if the configuration describes a single transformer.
const Tower* find_tower(const Checkpoint& checkpoint, const std::vector<Tower>& towers, std::string_view name) {
  if (name != "text" && name != "vision") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("unknown tower '{}'; expected text or vision, or stage1 to stage9", printable(name)));
  }
  for (const Tower& tower : towers) {
    if (tower_name(tower.modality) == name) return &tower;
  }
  if (towers.empty()) return nullptr;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: describes no {} tower", checkpoint.config_path().string(), name));
}

const Family& by_tower(const Checkpoint& checkpoint, const Tower& tower) {
  if (const Family* family = family_of_tower(checkpoint, tower)) return *family;
  const std::string stated(tower.config.find("model_type").as_string().value_or(""));
  std::vector<FamilyFit> fitting = fitting_families(checkpoint, stated);
  std::erase_if(fitting, [&](const FamilyFit& fit) { return fit.family->modality != tower.modality; });
  refuse(checkpoint,
         fmt::format("model_type '{}' of the {} tower is unknown", printable(stated), tower_name(tower.modality)),
         fitting, stated, tower.modality);
}

const Family* by_class_name(std::string_view class_name) {
  for (const Family& family : known_families()) {
    if (std::any_of(family.architectures.begin(), family.architectures.end(),
                    [&](const std::string& beginning) { return class_name.starts_with(beginning); })) {
      return &family;
    }
  }
  return nullptr;
}

const Family& by_tensor_names(const Checkpoint& checkpoint) {
  const std::vector<FamilyFit> fitting = fitting_families(checkpoint);
  if (fitting.empty()) refuse(checkpoint, "has no 'model_type', and the tensors' names match no family", fitting);
  if (fitting.size() > 1) {
    std::vector<std::string_view> names;
    for (const FamilyFit& fit : fitting) {
      if (fit.missing == fitting.front().missing && fit.recognized == fitting.front().recognized) {
        names.push_back(fit.family->name);
      }
    }
    if (names.size() == 1) return *fitting.front().family;
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: has no 'model_type', and the tensors' names match {}; add \"model_type\" to it, or try "
                    "--family {}",
                    checkpoint.config_path().string(), fmt::join(names, ", "), names.front()));
  }
  return *fitting.front().family;
}

const Family& by_config(const Checkpoint& checkpoint) {
  const JsonValue config = checkpoint.config();
  if (const JsonValue value = config.find("model_type"); !value.is_null()) {
    const auto model_type = value.as_string();
    if (!model_type) unknown(checkpoint, "'model_type' is not a string");
    const Family* family = by_model_type(*model_type);
    const std::vector<Tower> towers = towers_of(checkpoint);
    if (family == nullptr && !towers.empty()) return by_tower(checkpoint, towers.front());
    if (family == nullptr) {
      unknown(checkpoint, fmt::format("model_type '{}' is unknown", printable(*model_type)), *model_type);
    }
    return *family;
  }
  const JsonValue classes = config.find("architectures");
  if (classes.size() > 0) {
    const auto class_name = (*classes.items().begin()).as_string();
    const Family* family = class_name ? by_class_name(*class_name) : nullptr;
    if (family != nullptr) return *family;
  }
  return by_tensor_names(checkpoint);
}

// timm uses the same tensor names for models of other kinds; only its architecture tells them apart.
void reject_other_architectures(const Checkpoint& checkpoint, const Family& family) {
  const auto architecture = checkpoint.config().find("architecture").as_string();
  if (!architecture) return;
  for (const std::string& part : family.other_architectures) {
    if (architecture->find(part) != std::string_view::npos) {
      // No hint: the names fit, which is misleading here.
      refuse(checkpoint, fmt::format("architecture '{}' is not a plain ViT ('{}')", printable(*architecture), part),
             {});
    }
  }
}

NormOrder norm_order(const Family& family, JsonValue config) {
  if (family.pre_norm_key.empty()) return family.order;
  return config.find(family.pre_norm_key).as_bool().value_or(true) ? NormOrder::kPre : NormOrder::kPost;
}

// transformers masks nothing in a decoder with `is_causal` false. PaliGemma reads its prompt in both directions; its
// first files do not say so. Gemma 4 has "all", or "vision" for images only.
bool reads_both_ways(const Checkpoint& checkpoint, const Family& family, JsonValue config) {
  if (family.always_causal) return false;
  if (!config.find("is_causal").as_bool().value_or(true)) return true;
  const bool paligemma = checkpoint.config().find("model_type").as_string() == "paligemma";
  const JsonValue value = config.find("use_bidirectional_attention");
  return value.as_string() ? *value.as_string() == "all" : value.as_bool().value_or(paligemma);
}

const Family& by_name(std::string_view name) {
  for (const Family& family : known_families()) {
    if (family.name == name) return family;
  }
  std::vector<std::string> names;
  for (const Family& family : known_families()) names.push_back(family.name);
  throw Error(ErrorKind::kInvalidArgument, fmt::format("unknown family '{}'{}; expected one of {}", printable(name),
                                                       did_you_mean(name, names), fmt::join(names, ", ")));
}

std::string gguf_architecture(const Checkpoint& checkpoint) {
  const auto value = checkpoint.metadata("general.architecture");
  return std::string(value ? value->as_string().value_or("") : "");
}

const Family& by_architecture(const Checkpoint& checkpoint) {
  const std::string architecture = gguf_architecture(checkpoint);
  if (architecture.empty()) unknown(checkpoint, "has no 'general.architecture'");
  // Image towers of several families share an architecture.
  const Family* first = nullptr;
  for (const Family& family : known_families()) {
    if (!family.gguf || family.gguf->architecture != architecture) continue;
    if (find_layout(checkpoint, family.gguf->layouts, {}, family.modality).layout != nullptr) return family;
    if (first == nullptr) first = &family;
  }
  if (first != nullptr) return *first;
  unknown(checkpoint, fmt::format("general.architecture '{}' is unknown", printable(architecture)), architecture);
}

// If a file is read as another family, its keys start with its own architecture.
std::string gguf_keys(const Checkpoint& checkpoint, const GgufForm& form) {
  const std::string own = gguf_architecture(checkpoint);
  const bool renamed = !checkpoint.metadata(form.keys + ".block_count") && checkpoint.metadata(own + ".block_count");
  return renamed ? own : form.keys;
}

// Which of the file's layers is each layer's own, if they are not numbered alike.
std::vector<std::size_t> stored_layers(const Checkpoint& checkpoint, const FamilyMatch& match) {
  std::vector<std::size_t> result;
  if (match.layout->hybrid) {
    for (const StoredTensor* tensor : checkpoint.tensors()) {
      const auto found = match_layer(tensor->name, match.layout->o + ".weight");
      if (!found || found->prefix != match.prefix) continue;
      // In Kimi Linear the other layers have an O, too.
      const std::string key = match.prefix + layer_name(match.layout->k, found->layer) + ".weight";
      if (match.layout->k.empty() || checkpoint.find(key) != nullptr) result.push_back(found->layer);
    }
    std::ranges::sort(result);
  }
  const std::string& key = match.family->weight_sets_key;
  if (key.empty()) return result;
  constexpr std::size_t kMost = 100'000;
  const ConfigReader config(checkpoint, match.config);
  const std::size_t layers = config.size(match.family->keys.layers).value_or(0);
  const std::size_t sets = config.size({key}).value_or(1);
  if (layers == 0 || layers > kMost || sets == 0 || layers % sets != 0) {
    config.malformed(fmt::format("{} layers share {} sets of weights, expected a divisor", layers, sets));
  }
  if (config.size({"inner_group_num"}).value_or(1) != 1) {
    config.malformed("'inner_group_num' is not 1, which headscope does not support");
  }
  for (std::size_t i = 0; i < layers; ++i) result.push_back(i * sets / layers);
  return result;
}

// llama.cpp pairs i with i + n/2 wherever positions have sections, and its converter permutes the rows accordingly.
PositionKind gguf_position(const Checkpoint& checkpoint, const GgufForm& form, const std::string& keys) {
  if (!form.half_if_sections) return form.position;
  const auto sections = checkpoint.metadata(keys + ".rope.dimension_sections");
  if (!sections || sections->array_size().value_or(0) != 4) return form.position;
  const std::vector<GgufValue> sizes = *sections->as_array();
  const bool has_two = sizes[0].as_number().value_or(0) > 0 && sizes[1].as_number().value_or(0) > 0;
  return has_two ? PositionKind::kRotaryHalf : form.position;
}

FamilyMatch match_gguf(const Checkpoint& checkpoint, const Family& family, const std::string& source) {
  if (!family.gguf) unknown(checkpoint, fmt::format("{}, which headscope does not read from GGUF", source));
  LayoutSearch search = find_layout(checkpoint, family.gguf->layouts, {}, family.modality);
  if (search.layout == nullptr) unknown(checkpoint, fmt::format("{}, but {}", source, search.problem));
  const std::string keys = gguf_keys(checkpoint, *family.gguf);
  const auto stated = checkpoint.metadata(keys + ".attention.causal");
  FamilyMatch match{&family,
                    search.layout,
                    std::move(search.prefix),
                    gguf_position(checkpoint, *family.gguf, keys),
                    family.order,
                    family.causal && (!stated || stated->as_bool().value_or(true)),
                    {},
                    keys};
  match.stored_layers = stored_layers(checkpoint, match);
  return match;
}

}  // namespace

FamilyMatch find_family(const Checkpoint& checkpoint, std::string_view name, std::string_view tower) {
  const bool gguf = checkpoint.is_gguf();
  const std::vector<Tower> towers = towers_of(checkpoint);
  const std::optional<std::size_t> stage = stage_of(tower);
  const Tower* chosen = tower.empty() || stage ? nullptr : find_tower(checkpoint, towers, tower);
  const Family& family = !name.empty()       ? by_name(name)
                         : chosen != nullptr ? by_tower(checkpoint, *chosen)
                         : gguf              ? by_architecture(checkpoint)
                                             : by_config(checkpoint);
  if (!tower.empty() && !stage && tower_name(family.modality) != tower) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} is of kind {}, so it has no {} tower", checkpoint.config_path().string(),
                            family.name, tower_name(family.modality), tower));
  }
  const std::string source = !name.empty() ? fmt::format("was requested as family {}", family.name)
                             : gguf        ? fmt::format("general.architecture is '{}'", family.gguf->architecture)
                                           : fmt::format("says family {}", family.name);
  if (gguf) return match_gguf(checkpoint, family, source);
  const JsonValue nested = checkpoint.config().find(family.nested_config);
  JsonValue config = nested.is_object() ? nested : checkpoint.config();
  for (const Tower& one : towers) {
    if (one.modality == family.modality) config = one.config;
  }
  reject_other_architectures(checkpoint, family);
  LayoutSearch search = find_layout(checkpoint, family.layouts, config, family.modality, stage);
  if (search.layout == nullptr) unknown(checkpoint, fmt::format("{}, but {}", source, search.problem));
  if (stage && !search.stage) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} has no stages", checkpoint.config_path().string(), family.name));
  }
  const bool alibi = !family.alibi_key.empty() && config.find(family.alibi_key).as_bool().value_or(false);
  const PositionKind position = alibi ? PositionKind::kAlibi : family.position;
  FamilyMatch match{&family,
                    search.layout,
                    std::move(search.prefix),
                    position,
                    norm_order(family, config),
                    family.causal && !reads_both_ways(checkpoint, family, config),
                    config,
                    {}};
  if (towers.size() > 1) match.tower = tower_name(family.modality);
  match.stage = search.stage;
  for (const std::size_t one : search.stages) {
    const std::string name_of_stage = fmt::format("stage{}", one + 1);
    if (one == search.stage) match.tower = name_of_stage;
    if (one != search.stage) match.other_stages.push_back(name_of_stage);
  }
  match.stored_layers = stored_layers(checkpoint, match);
  return match;
}

}  // namespace headscope
