#include "model/find_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "model/attention_names.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

[[noreturn]] void unknown(const Checkpoint& checkpoint, const std::string& found) {
  std::vector<std::string_view> names;
  for (const Family& family : known_families()) {
    if (!checkpoint.is_gguf()) names.push_back(family.name);
    if (checkpoint.is_gguf() && family.gguf) names.push_back(family.gguf->architecture);
  }
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}; expected one of {}; tensors that look like attention: {}",
                                                   checkpoint.config_path().string(), found, fmt::join(names, ", "),
                                                   attention_looking_tensors(checkpoint)));
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// What stands before the names of O: a listed prefix, the first of the list that is there; else the only one there is.
std::optional<std::string> find_prefix(const Checkpoint& checkpoint, const Layout& layout) {
  std::set<std::string_view> found;
  const std::string pattern = layout.o + ".weight";
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (const auto match = match_layer(tensor->name, pattern)) found.insert(match->prefix);
  }
  for (const std::string& prefix : layout.prefixes) {
    if (found.contains(prefix)) return prefix;
  }
  if (!layout.other_prefixes || found.size() != 1) return std::nullopt;
  return std::string(*found.begin());
}

bool has_layer_tensor(const Checkpoint& checkpoint, const std::string& prefix, const std::string& pattern) {
  return std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), [&](const StoredTensor* tensor) {
    const auto match = match_layer(tensor->name, pattern);
    return match && match->prefix == prefix;
  });
}

// The naming that fits the file, or why none does.
struct LayoutSearch {
  const Layout* layout = nullptr;
  std::string prefix;
  std::string problem;
};

LayoutSearch find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts) {
  LayoutSearch search;
  for (const Layout& layout : layouts) {
    const auto prefix = find_prefix(checkpoint, layout);
    if (!prefix) {
      if (search.problem.empty()) search.problem = fmt::format("there is no '{}.weight'", layout.o);
      continue;
    }
    // Two generations may share O's name.
    if (!has_layer_tensor(checkpoint, *prefix, layout.q + ".weight")) {
      search.problem = fmt::format("there is no '{}{}.weight'", printable(*prefix), layout.q);
      continue;
    }
    for (const std::string& name : layout.always_has) {
      if (!has_layer_tensor(checkpoint, *prefix, name)) return {nullptr, "", fmt::format("there is no '{}'", name)};
    }
    for (const std::string& name : layout.never_has) {
      if (has_layer_tensor(checkpoint, *prefix, name)) {
        return {nullptr, "", fmt::format("there is a '{}', which that family does not have", name)};
      }
    }
    return {&layout, *prefix, ""};
  }
  return search;
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
  for (const Family& family : known_families()) {
    if (find_layout(checkpoint, family.layouts).layout != nullptr) fitting.push_back(&family);
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
  if (const JsonValue value = config.find("model_type"); !value.is_null()) {
    const auto model_type = value.as_string();
    if (!model_type) unknown(checkpoint, "'model_type' is not text");
    const Family* family = by_model_type(*model_type);
    if (family == nullptr) unknown(checkpoint, fmt::format("model_type '{}' is unknown", printable(*model_type)));
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

// timm names models of other kinds alike; only its architecture tells them apart.
void refuse_other_architectures(const Checkpoint& checkpoint, const Family& family) {
  const auto architecture = checkpoint.config().find("architecture").as_string();
  if (!architecture) return;
  for (const std::string& part : family.other_architectures) {
    if (architecture->find(part) != std::string_view::npos) {
      unknown(checkpoint, fmt::format("architecture '{}' is not a plain ViT ('{}')", printable(*architecture), part));
    }
  }
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
    LayoutSearch search = find_layout(checkpoint, family.gguf->layouts);
    if (search.layout == nullptr) {
      unknown(checkpoint,
              fmt::format("general.architecture is '{}', but {}", printable(*architecture), search.problem));
    }
    return {&family, search.layout, std::move(search.prefix), family.gguf->position, family.order, {}};
  }
  unknown(checkpoint, fmt::format("general.architecture '{}' is unknown", printable(*architecture)));
}

}  // namespace

FamilyMatch find_family(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return match_gguf(checkpoint);
  const Family& family = by_config(checkpoint);
  const JsonValue nested = checkpoint.config().find(family.nested_config);
  const JsonValue config = nested.is_object() ? nested : checkpoint.config();
  refuse_other_architectures(checkpoint, family);
  LayoutSearch search = find_layout(checkpoint, family.layouts);
  if (search.layout == nullptr) {
    unknown(checkpoint, fmt::format("says family {}, but {}", family.name, search.problem));
  }
  return {&family, search.layout, std::move(search.prefix), family.position, norm_order(family, config), config};
}

}  // namespace headscope
