#include "run/other_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::size_t kMaxLength = 80;

// What a fingerprint in an identity is of: one thing, or one of several.
struct Kind {
  std::string_view key;
  std::string_view one;
  bool numbered = false;
};
// In the order in which differences are looked for: with another model, everything else may differ too.
constexpr std::array kKinds = {Kind{"model", "the model"},
                               Kind{"contents", "input", true},
                               Kind{"paired_contents", "paired input", true},
                               Kind{"labels_contents", "the labels"},
                               Kind{"edges_contents", "the list of edges"},
                               Kind{"source", "the source of the maps"},
                               Kind{"other_inputs", "the source of the maps"},
                               Kind{"mask_array", "the mask"},
                               Kind{"runs", "the compared RUNs"}};

std::vector<RunOrigin> origins_of(JsonValue list) {
  std::vector<RunOrigin> origins;
  for (const JsonValue item : list.items()) {
    origins.push_back({std::string(item.find("name").as_string().value_or("")),
                       std::string(item.find("fingerprint").as_string().value_or(""))});
  }
  return origins;
}

std::string shown(const std::string& name) {
  return printable(name, kMaxLength);
}

// `before` is empty if an older version wrote the manifest.
std::string other_origin(const Kind& kind, const std::vector<RunOrigin>& before, const std::vector<RunOrigin>& now) {
  if (before.empty() || now.empty()) {
    return now.empty() ? fmt::format("{} changed", kind.one)
                       : fmt::format("{} was another one, now {}", kind.one, shown(now.front().name));
  }
  const auto [old, current] = std::ranges::mismatch(before, now, [](const RunOrigin& a, const RunOrigin& b) {
    return a.name == b.name && a.fingerprint == b.fingerprint;
  });
  if (old == before.end() && current == now.end()) return fmt::format("{} changed", kind.one);
  if (old == before.end() || current == now.end()) {
    return fmt::format("{} {}s then, {} now", before.size(), kind.one, now.size());
  }
  const std::string number = kind.numbered && now.size() > 1 ? fmt::format(" {}", current - now.begin()) : "";
  const std::string what = fmt::format("{}{}{}", kind.numbered && number.empty() ? "the " : "", kind.one, number);
  if (old->name == current->name) return fmt::format("{}, {}, has changed since", what, shown(old->name));
  return fmt::format("{} was {}, now {}", what, shown(old->name), shown(current->name));
}

std::string flag_of(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

}  // namespace

std::optional<std::string> difference(JsonValue before, const RunCommand& now) {
  const JsonValue identity = before.find("identity");
  const auto old_value = [&](const std::string& key) { return identity.find(key).as_string(); };
  for (const Kind& kind : kKinds) {
    const auto current = now.identity.find(std::string(kind.key));
    if (current == now.identity.end() || old_value(current->first) == current->second) continue;
    const auto origins = now.origins.find(current->first);
    return other_origin(kind, origins_of(before.find("origins").find(kind.key)),
                        origins == now.origins.end() ? std::vector<RunOrigin>() : origins->second);
  }
  for (const auto& [key, value] : now.identity) {
    const auto old = old_value(key);
    if (old == value || std::ranges::find(kKinds, key, &Kind::key) != kKinds.end()) continue;
    const std::string was = !old ? "not there" : old->empty() ? "not given" : printable(*old, kMaxLength);
    const std::string is = value.empty() ? "not given" : printable(value, kMaxLength);
    if (key == "version") return fmt::format("headscope {} wrote it, this is {}", was, is);
    return fmt::format("{} was {}, now {}", flag_of(key), was, is);
  }
  return std::nullopt;
}

}  // namespace headscope
