#include "headscope/relate/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/json.h"
#include "headscope/io/mapped_file.h"

namespace headscope {
namespace {

using Class = HeadLabels::Class;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxClassName = 100;
// Maximum number of missing heads that an error names.
constexpr std::size_t kMaxNamed = 6;

[[noreturn]] void malformed(std::string_view where, const std::string& what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
}

void check_keys(JsonValue root, std::string_view where) {
  if (!root.is_object()) malformed(where, "is not a JSON object");
  std::set<std::string_view> seen;
  for (const auto [key, value] : root.members()) {
    // A misspelled "ignored" would silently change every score.
    if (key != "name" && key != "source" && key != "classes" && key != "ignored") {
      malformed(where,
                fmt::format("unknown key '{}', expected 'name', 'source', 'classes' or 'ignored'", printable(key)));
    }
    if (!seen.insert(key).second) malformed(where, fmt::format("duplicate key '{}'", key));
  }
}

std::string read_text(JsonValue root, std::string_view key, std::string_view where) {
  const JsonValue value = root.find(key);
  if (value.is_null()) return "";
  const auto text = value.as_string();
  if (!text) malformed(where, fmt::format("'{}' is not a string", key));
  return std::string(*text);
}

void check_class_name(std::string_view name, std::string_view where) {
  if (name.empty()) malformed(where, "a class has an empty name");
  if (name.size() > kMaxClassName) {
    malformed(where, fmt::format("class '{}' has a name of {} bytes, expected at most {}", printable(name), name.size(),
                                 kMaxClassName));
  }
  // These names go into tables, XML and messages; `printable` changes exactly the names that would break a line.
  if (printable(name) != name) {
    malformed(where, fmt::format("the name of class '{}' holds a control character", printable(name)));
  }
}

HeadId read_head(JsonValue value, std::string_view class_name, std::string_view where) {
  if (value.as_number()) {
    malformed(where, fmt::format("class '{}' holds a number; write heads as strings, since the number 4.10 equals 4.1",
                                 class_name));
  }
  const auto text = value.as_string();
  if (!text) malformed(where, fmt::format("class '{}' holds something that is not a string", class_name));
  const auto id = parse_head(*text);
  if (!id) {
    malformed(where, fmt::format("class '{}' names '{}', expected a head such as L4H7, 4.7 or L4KV1", class_name,
                                 printable(*text)));
  }
  return *id;
}

std::vector<Class> read_classes(JsonValue classes, std::string_view where) {
  if (!classes.is_object()) malformed(where, "has no object 'classes'");
  std::vector<Class> read;
  std::set<std::string_view> names;
  for (const auto [name, heads] : classes.members()) {
    check_class_name(name, where);
    if (!names.insert(name).second) malformed(where, fmt::format("duplicate class '{}'", name));
    if (!heads.is_array()) malformed(where, fmt::format("class '{}' is not a list of heads", name));
    Class next{std::string(name), {}, false};
    std::set<HeadId> seen;
    for (const JsonValue item : heads.items()) {
      const HeadId id = read_head(item, name, where);
      if (!seen.insert(id).second)
        malformed(where, fmt::format("duplicate head {1} in class '{0}'", name, to_string(id)));
      next.heads.push_back(id);
    }
    read.push_back(std::move(next));
  }
  if (read.empty()) malformed(where, "has no classes");
  return read;
}

void mark_ignored(JsonValue ignored, std::vector<Class>& classes, std::string_view where) {
  if (ignored.is_null()) return;
  if (!ignored.is_array()) malformed(where, "'ignored' is not a list of classes");
  for (const JsonValue item : ignored.items()) {
    const auto name = item.as_string();
    if (!name) malformed(where, "'ignored' holds something that is not a string");
    const auto found = std::ranges::find(classes, *name, &Class::name);
    if (found == classes.end()) {
      malformed(where, fmt::format("'ignored' names '{}', which is not a class", printable(*name)));
    }
    found->ignored = true;
  }
}

void sort_once(std::vector<HeadId>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

bool is_in_model(HeadId id, const HeadSizes& sizes) {
  return sizes.layer_of(id).has_value();
}

}  // namespace

HeadLabels HeadLabels::parse(std::string_view text, std::string_view where) {
  const JsonDocument document = JsonDocument::parse(text, where);
  const JsonValue root = document.root();
  check_keys(root, where);

  HeadLabels labels;
  labels.where_ = where;
  labels.name_ = read_text(root, "name", where);
  labels.source_ = read_text(root, "source", where);
  labels.classes_ = read_classes(root.find("classes"), where);
  mark_ignored(root.find("ignored"), labels.classes_, where);

  for (const Class& each : labels.classes_) {
    labels.in_class_.insert(labels.in_class_.end(), each.heads.begin(), each.heads.end());
    if (!each.ignored) labels.labeled_.insert(labels.labeled_.end(), each.heads.begin(), each.heads.end());
  }
  sort_once(labels.in_class_);
  sort_once(labels.labeled_);
  return labels;
}

std::vector<std::string> HeadLabels::classes_of(HeadId id) const {
  std::vector<std::string> names;
  if (!is_in_class(id)) return names;
  for (const Class& each : classes_) {
    if (std::ranges::find(each.heads, id) != each.heads.end()) names.push_back(each.name);
  }
  return names;
}

bool HeadLabels::is_in_class(HeadId id) const noexcept {
  return std::ranges::binary_search(in_class_, id);
}

bool HeadLabels::is_labeled(HeadId id) const noexcept {
  return std::ranges::binary_search(labeled_, id);
}

void HeadLabels::check_against(const HeadSizes& sizes) const {
  std::string named;
  std::size_t missing = 0;
  bool about_key_value = sizes.kv_heads != sizes.heads;
  for (const Class& each : classes_) {
    bool first = true;
    for (const HeadId id : each.heads) {
      if (is_in_model(id, sizes)) continue;
      about_key_value |= id.key_value;
      if (missing++ >= kMaxNamed) continue;
      if (first) named += fmt::format("{}class '{}' names", named.empty() ? "" : ", ", each.name);
      named += (first ? " " : ", ") + to_string(id);
      first = false;
    }
  }
  if (missing == 0) return;
  if (missing > kMaxNamed) named += fmt::format(" and {} more", missing - kMaxNamed);
  malformed(where_, fmt::format("{}, but the model has {}{}", named, sizes.text(),
                                about_key_value ? fmt::format(" and {} KV heads", sizes.kv_heads) : ""));
}

HeadLabels load_labels(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  if (file.bytes().size() > kMaxBytes) {
    malformed(path.string(),
              fmt::format("has {} bytes, expected at most {} for a label file", file.bytes().size(), kMaxBytes));
  }
  return HeadLabels::parse(as_text(file.bytes()), path.string());
}

}  // namespace headscope
