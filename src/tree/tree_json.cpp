#include "headscope/tree/tree_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {
namespace {

[[noreturn]] void malformed(std::string_view where, const std::string& what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
}

// Writes everything except the closing brace.
std::string open_object(const PartitionTree& tree) {
  std::string text = fmt::format("{{\"n\": {}, \"levels\": [", tree.size());
  const auto out = std::back_inserter(text);
  std::vector<std::size_t> elements;
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    fmt::format_to(out, "{}\n  {{\"folders\": [", level == 0 ? "" : ",");
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      const auto unsorted = tree.elements(folder);
      elements.assign(unsorted.begin(), unsorted.end());
      std::sort(elements.begin(), elements.end());
      fmt::format_to(out, "{}[{}]", folder.begin == 0 ? "" : ", ", fmt::join(elements, ", "));
    }
    text += "]}";
  }
  text += "\n]";
  return text;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

PartitionTree::Level read_level(JsonValue value, std::size_t n, const std::string& where) {
  const JsonValue folders = value.find("folders");
  if (!folders.is_array()) malformed(where, "has no 'folders' list");
  PartitionTree::Level level;
  for (const JsonValue folder : folders.items()) {
    const std::string here = fmt::format("{}, folder {}", where, level.size());
    if (!folder.is_array()) malformed(here, "is not a list");
    auto& elements = level.emplace_back();
    for (const JsonValue item : folder.items()) {
      const auto element = item.as_unsigned();
      if (!element) malformed(here, "holds something that is not a non-negative integer");
      if (*element >= n) malformed(here, fmt::format("holds element {}, expected less than {}", *element, n));
      elements.push_back(static_cast<std::size_t>(*element));
    }
  }
  return level;
}

void check_names(JsonValue names, std::size_t n, std::string_view where) {
  if (names.is_null()) return;
  if (!names.is_array() || names.size() != n) malformed(where, fmt::format("'names' is not a list of {} strings", n));
  for (const JsonValue name : names.items()) {
    if (!name.as_string()) malformed(where, "'names' holds something that is not a string");
  }
}

}  // namespace

std::string to_json(const PartitionTree& tree) {
  return open_object(tree) + "}\n";
}

std::string to_json(const PartitionTree& tree, std::span<const std::string> names) {
  if (names.size() != tree.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("to_json: {} names for a tree of {} elements", names.size(), tree.size()));
  }
  std::string text = open_object(tree) + ", \"names\": [";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += ", ";
    text += quoted(names[i]);
  }
  return text + "]}\n";
}

PartitionTree tree_from_json(JsonValue value, std::string_view where) {
  if (!value.is_object()) malformed(where, "is not a tree: expected an object with 'n' and 'levels'");
  const auto n = value.find("n").as_unsigned();
  if (!n || *n == 0) malformed(where, "has no 'n' that is a positive integer");
  const JsonValue list = value.find("levels");
  if (!list.is_array()) malformed(where, "has no 'levels' list");

  std::vector<PartitionTree::Level> levels;
  for (const JsonValue level : list.items()) {
    levels.push_back(
        read_level(level, static_cast<std::size_t>(*n), fmt::format("{}: level {}", where, levels.size())));
  }
  // The constructor takes n from the root, so a wrong "n" must be detected here, before anything of that size is
  // allocated.
  if (!levels.empty() && levels[0].size() == 1 && levels[0][0].size() != *n) {
    malformed(where, fmt::format("'n' is {}, but the root holds {} elements", *n, levels[0][0].size()));
  }
  check_names(value.find("names"), static_cast<std::size_t>(*n), where);
  try {
    return PartitionTree(levels);
  } catch (const Error& error) {
    malformed(where, error.what());
  }
}

}  // namespace headscope
