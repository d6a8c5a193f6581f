#include "model/find_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "headscope/base/error.h"
#include "model/attention_names.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

[[noreturn]] void unknown(const Checkpoint& checkpoint, const std::string& found) {
  std::vector<std::string_view> names;
  for (const Family& family : known_families()) names.push_back(family.name);
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}; expected one of {}; tensors that look like attention: {}",
                                                   checkpoint.config_path().string(), found, fmt::join(names, ", "),
                                                   attention_looking_tensors(checkpoint)));
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The prefix under which most layers have an O; listed prefixes go first. Nothing if no tensor fits.
std::optional<std::string> find_prefix(const Checkpoint& checkpoint, const Layout& layout) {
  std::map<std::string_view, std::set<std::size_t>> layers;
  const std::string pattern = layout.o + ".weight";
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (const auto match = match_layer(tensor->name, pattern)) layers[match->prefix].insert(match->layer);
  }
  const auto rank = [&](std::string_view prefix) {
    return std::find(layout.prefixes.begin(), layout.prefixes.end(), prefix) - layout.prefixes.begin();
  };
  const auto best = std::min_element(layers.begin(), layers.end(), [&](const auto& a, const auto& b) {
    return std::tuple(rank(a.first), b.second.size()) < std::tuple(rank(b.first), a.second.size());
  });
  if (best == layers.end()) return std::nullopt;
  return std::string(best->first);
}

// The naming whose O and Q are both in the file: two generations may share O's name.
const Layout* find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts, std::string& prefix) {
  for (const Layout& layout : layouts) {
    const auto found = find_prefix(checkpoint, layout);
    if (!found) continue;
    const bool has_q = std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), [&](const auto* tensor) {
      const auto match = match_layer(tensor->name, layout.q + ".weight");
      return match && match->prefix == *found;
    });
    if (has_q) {
      prefix = *found;
      return &layout;
    }
  }
  return nullptr;
}

const Family* by_model_type(std::string_view model_type) {
  for (const Family& family : known_families()) {
    if (contains(family.model_types, model_type)) return &family;
  }
  return nullptr;
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
  std::vector<const Family*> fitting;
  std::string ignored;
  for (const Family& family : known_families()) {
    if (find_layout(checkpoint, family.layouts, ignored) != nullptr) fitting.push_back(&family);
  }
  if (fitting.empty()) unknown(checkpoint, "has no 'model_type', and the tensors' names fit no family");
  if (fitting.size() > 1) {
    std::vector<std::string_view> names;
    for (const Family* family : fitting) names.push_back(family->name);
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has no 'model_type', and the tensors' names fit {}; add \"model_type\" to it",
                            checkpoint.config_path().string(), fmt::join(names, ", ")));
  }
  return *fitting.front();
}

const Family& by_config(const Checkpoint& checkpoint) {
  const JsonValue config = checkpoint.config();
  if (const auto model_type = config.find("model_type").as_string()) {
    const Family* family = by_model_type(*model_type);
    if (family == nullptr) unknown(checkpoint, fmt::format("model_type '{}' is unknown", printable(*model_type)));
    return *family;
  }
  for (const JsonValue item : config.find("architectures").items()) {
    const auto class_name = item.as_string();
    const Family* family = class_name ? by_class_name(*class_name) : nullptr;
    if (family == nullptr) break;
    return *family;
  }
  return by_tensor_names(checkpoint);
}

NormOrder norm_order(const Family& family, JsonValue config) {
  if (family.pre_norm_key.empty()) return family.order;
  return config.find(family.pre_norm_key).as_bool().value_or(true) ? NormOrder::kPre : NormOrder::kPost;
}

FamilyMatch match_gguf(const Checkpoint& checkpoint) {
  const auto value = checkpoint.metadata("general.architecture");
  const auto architecture = value ? value->as_string() : std::nullopt;
  if (!architecture) unknown(checkpoint, "has no 'general.architecture'");
  for (const Family& family : known_families()) {
    if (!family.gguf || family.gguf->architecture != *architecture) continue;
    FamilyMatch match{&family, nullptr, "", family.gguf->position, family.order, {}};
    match.layout = find_layout(checkpoint, family.gguf->layouts, match.prefix);
    if (match.layout == nullptr) {
      unknown(checkpoint, fmt::format("general.architecture is '{}', but there is no '{}.weight'",
                                      printable(*architecture), family.gguf->layouts.front().o));
    }
    return match;
  }
  unknown(checkpoint, fmt::format("general.architecture '{}' is unknown", printable(*architecture)));
}

}  // namespace

FamilyMatch find_family(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return match_gguf(checkpoint);
  const Family& family = by_config(checkpoint);
  const JsonValue nested = checkpoint.config().find(family.nested_config);
  const JsonValue config = nested.is_object() ? nested : checkpoint.config();
  FamilyMatch match{&family, nullptr, "", family.position, norm_order(family, config), config};
  match.layout = find_layout(checkpoint, family.layouts, match.prefix);
  if (match.layout == nullptr) {
    unknown(checkpoint,
            fmt::format("says family {}, but there is no '{}.weight'", family.name, family.layouts.front().o));
  }
  return match;
}

}  // namespace headscope
