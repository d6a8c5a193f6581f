#include "tokenize/component.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/model/vocabulary.h"

namespace headscope {

std::string_view Component::type() const {
  const auto type = value_.find("type").as_string();
  if (!type) malformed("has no type");
  return *type;
}

bool Component::flag(std::string_view key) const {
  const auto flag = value_.find(key).as_bool();
  if (!flag) malformed(fmt::format("has no '{}' that is true or false", key));
  return *flag;
}

std::string_view Component::text(std::string_view key) const {
  const auto text = value_.find(key).as_string();
  if (!text) malformed(fmt::format("has no string '{}'", key));
  return *text;
}

std::uint32_t Component::id(std::string_view key) const {
  const auto number = value_.find(key).as_unsigned();
  if (!number) malformed(fmt::format("has no '{}' that is a non-negative integer", key));
  return checked_id(*number, *this);
}

bool Component::flag_or(std::string_view key, bool otherwise) const {
  return value_.find(key).is_null() ? otherwise : flag(key);
}

std::string_view Component::text_or(std::string_view key, std::string_view otherwise) const {
  return value_.find(key).is_null() ? otherwise : text(key);
}

Component Component::member(std::string_view key) const {
  return {value_.find(key), fmt::format("{}.{}", where_, printable(key, 60))};
}

Component Component::list(std::string_view key) const {
  Component found = member(key);
  if (!found.value().is_array()) found.malformed("is not a list");
  return found;
}

Component Component::item(JsonValue value, std::size_t index) const {
  return {value, fmt::format("{}[{}]", where_, index)};
}

void Component::malformed(std::string_view what) const {
  throw Error(ErrorKind::kFormat, fmt::format("{} {}", where_, what));
}

void Component::unsupported(std::string_view what) const {
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: {} is not supported", where_, what));
}

std::uint32_t checked_id(std::uint64_t id, const Component& component) {
  if (id >= Vocabulary::kMaxTokens) {
    component.malformed(fmt::format("has token id {}, expected at most {}", id, Vocabulary::kMaxTokens - 1));
  }
  return static_cast<std::uint32_t>(id);
}

}  // namespace headscope
