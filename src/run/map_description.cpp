#include "headscope/run/map_description.h"

#include <fmt/format.h>

#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
}

std::string text_entry(JsonValue root, const char* key, const std::string& where) {
  const JsonValue entry = root.find(key);
  if (entry.is_null()) return {};
  if (!entry.as_string()) fail(where, fmt::format("'{}' is not a text", key));
  return std::string(*entry.as_string());
}

std::optional<std::size_t> count_entry(JsonValue root, const char* key, const std::string& where) {
  const JsonValue entry = root.find(key);
  if (entry.is_null()) return std::nullopt;
  if (!entry.as_unsigned()) fail(where, fmt::format("'{}' is not a number of tokens", key));
  return static_cast<std::size_t>(*entry.as_unsigned());
}

JsonValue::Items list_entry(JsonValue root, const char* key, const std::string& where) {
  const JsonValue entry = root.find(key);
  if (!entry.is_null() && !entry.is_array()) fail(where, fmt::format("'{}' is not a list", key));
  return entry.items();
}

bool causal_entry(JsonValue root, const std::string& where) {
  const JsonValue mask = root.find("mask");
  if (!mask.is_null() && mask.as_string() != "causal" && mask.as_string() != "none") {
    fail(where, "'mask' is neither \"causal\" nor \"none\"");
  }
  return mask.as_string() == "causal";
}

std::string head_name(JsonValue head, const std::string& where) {
  const std::string_view name = head.as_string().value_or("");
  if (name.empty() || name.find('/') != std::string_view::npos) fail(where, "'heads' are not names such as L4H7");
  return printable(name);
}

std::vector<std::string> texts(JsonValue root, const char* key, const std::string& where) {
  std::vector<std::string> all;
  for (const JsonValue token : list_entry(root, key, where)) {
    const auto text = token.find("text").as_string();
    if (!text) fail(where, fmt::format("expected a 'text' in every one of '{}'", key));
    all.emplace_back(*text);
  }
  return all;
}

// Numbers of tokens, one per layer.
std::vector<std::size_t> sizes_entry(JsonValue root, const char* key, const std::string& where) {
  std::vector<std::size_t> sizes;
  for (const JsonValue size : list_entry(root, key, where)) {
    if (!size.as_unsigned()) fail(where, fmt::format("'{}' are not numbers of tokens", key));
    sizes.push_back(static_cast<std::size_t>(*size.as_unsigned()));
  }
  return sizes;
}

// Windows of patches, one per layer: [side, shift], or 0 for none.
std::vector<PatchWindows> patch_windows_entry(JsonValue root, const std::string& where) {
  std::vector<PatchWindows> windows;
  for (const JsonValue one : list_entry(root, "patch_windows", where)) {
    std::vector<std::size_t> numbers;
    for (const JsonValue number : one.items()) {
      numbers.push_back(static_cast<std::size_t>(number.as_unsigned().value_or(0)));
    }
    const bool none = one.as_unsigned() == 0U;
    if (!none && (numbers.size() != 2 || numbers[0] == 0 || numbers[1] >= numbers[0])) {
      fail(where, "'patch_windows' are neither 0 nor [side, shift] with a shift below the side");
    }
    windows.push_back(none ? PatchWindows{} : PatchWindows{numbers[0], numbers[1]});
  }
  return windows;
}

// Where the tokens are in the grid of patches; empty if some are not in it.
std::vector<std::pair<std::size_t, std::size_t>> places_entry(JsonValue root, const std::string& where) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const JsonValue token : list_entry(root, "tokens", where)) {
    const auto row = token.find("row").as_unsigned();
    const auto column = token.find("column").as_unsigned();
    if (!row || !column) return {};
    places.emplace_back(static_cast<std::size_t>(*row), static_cast<std::size_t>(*column));
  }
  return places;
}

}  // namespace

MapDescription parse_map_description(JsonValue root, const std::string& where) {
  if (!root.is_object()) fail(where, "does not describe maps: expected an object");
  MapDescription maps;
  maps.kind = text_entry(root, "kind", where);
  maps.source = text_entry(root, "source", where);
  maps.name = text_entry(root, "name", where);
  maps.file = text_entry(root, "file", where);
  maps.block = text_entry(root, "block", where);
  maps.causal = causal_entry(root, where);
  maps.windows = sizes_entry(root, "windows", where);
  maps.chunks = sizes_entry(root, "chunks", where);
  maps.patch_windows = patch_windows_entry(root, where);
  maps.places = places_entry(root, where);
  for (const JsonValue head : list_entry(root, "heads", where)) maps.heads.push_back(head_name(head, where));
  maps.first_query = count_entry(root, "first_query", where);
  maps.queries = count_entry(root, "queries", where);
  maps.tokens = texts(root, "tokens", where);
  maps.query_tokens = texts(root, "query_tokens", where);
  return maps;
}

}  // namespace headscope
