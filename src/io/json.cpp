#include "headscope/io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "io/git_lfs.h"

namespace headscope {

// Receives nlohmann's parse events and appends them to the document.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(JsonDocument& document, std::string_view where) : document_(document), where_(where) {}

  bool null() override { return add(JsonValue::Kind::kNull, 0); }
  bool boolean(bool value) override { return add(JsonValue::Kind::kBool, value ? 1 : 0); }
  bool number_integer(std::int64_t value) override {
    return add(JsonValue::Kind::kInteger, std::bit_cast<std::uint64_t>(value));
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(JsonValue::Kind::kNumber, std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    }
    return add(JsonValue::Kind::kInteger, value);
  }
  bool number_float(double value, const std::string& /*text*/) override {
    return add(JsonValue::Kind::kNumber, std::bit_cast<std::uint64_t>(value));
  }
  bool string(std::string& value) override { return add_text(value); }
  bool key(std::string& value) override { return add_text(value); }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON text
  bool start_object(std::size_t /*size*/) override { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t /*size*/) override { return open(JsonValue::Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": drop the bracket.
    std::string_view text = error.what();
    if (const auto bracket = text.find("] "); bracket != std::string_view::npos) text.remove_prefix(bracket + 2);
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: not valid JSON near byte {}: {}", where_, position, printable(text)));
  }

 private:
  bool add(JsonValue::Kind kind, std::uint64_t bits) {
    const auto index = static_cast<std::uint32_t>(document_.nodes_.size());
    document_.nodes_.push_back({kind, index + 1, bits});
    return true;
  }
  bool add_text(std::string_view text) {
    const std::uint64_t offset = document_.characters_.size();
    document_.characters_.append(text);
    return add(JsonValue::Kind::kString, offset << 32 | text.size());
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == JsonDocument::kMaxDepth) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: JSON nested more than {} deep", where_, JsonDocument::kMaxDepth));
    }
    open_.push_back(static_cast<std::uint32_t>(document_.nodes_.size()));
    return add(kind, 0);
  }
  bool close() {
    document_.nodes_[open_.back()].end = static_cast<std::uint32_t>(document_.nodes_.size());
    open_.pop_back();
    return true;
  }

  JsonDocument& document_;
  std::string_view where_;
  std::vector<std::uint32_t> open_;
};

namespace {

// Writes null for each NaN, Infinity and -Infinity outside of strings. A word that is only a part of another, such as
// Infinity2, leaves what is no JSON either.
std::string without_python_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto word =
        std::ranges::find_if(kWords, [&](std::string_view one) { return text.substr(i).starts_with(one); });
    if (!in_string && word != kWords.end()) {
      result += "null";
      i += word->size();
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    const std::size_t count = in_string && text[i] == '\\' ? std::min<std::size_t>(2, text.size() - i) : 1;
    result.append(text.substr(i, count));
    i += count;
  }
  return result;
}

}  // namespace

JsonDocument JsonDocument::parse(std::string_view text, std::string_view where, JsonDialect dialect) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (dialect == JsonDialect::kPython && (has("NaN") || has("Infinity"))) {
    return parse(without_python_numbers(text), where);
  }
  // Node and character positions are 32-bit; a value takes at least one byte of text.
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {} bytes of JSON, expected less than 4 GiB", where, text.size()));
  }
  if (text.find('\0') != std::string_view::npos) {  // nlohmann would treat it as the end
    throw Error(ErrorKind::kFormat, fmt::format("{}: not valid JSON: holds a NUL byte", where));
  }
  JsonDocument document;
  // Every key and every value except the first follows one of these. Reserved memory that is never touched costs
  // nothing, while a growing vector copies itself and holds both copies.
  const auto begins_node = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; };
  document.nodes_.reserve(1 + static_cast<std::size_t>(std::ranges::count_if(text, begins_node)));
  JsonBuilder builder(document, where);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return document;
}

JsonDocument JsonDocument::open(const std::filesystem::path& path, JsonDialect dialect) {
  const MappedFile file = MappedFile::open(path);
  reject_git_lfs_pointer(path, file.bytes());
  return parse(as_text(file.bytes()), path.string(), dialect);
}

JsonValue::Kind JsonValue::kind() const noexcept {
  return document_ == nullptr ? Kind::kNull : document_->nodes_[node_].kind;
}

std::optional<bool> JsonValue::as_bool() const noexcept {
  if (kind() != Kind::kBool) return std::nullopt;
  return document_->nodes_[node_].bits != 0;
}

std::optional<std::uint64_t> JsonValue::as_unsigned() const noexcept {
  if (kind() == Kind::kInteger) {
    const auto value = std::bit_cast<std::int64_t>(document_->nodes_[node_].bits);
    return value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(value));
  }
  if (kind() == Kind::kNumber) {
    const auto value = std::bit_cast<double>(document_->nodes_[node_].bits);
    // Beyond 2^53, a double does not identify an integer.
    if (value >= 0 && value <= 0x1p53 && value == std::floor(value)) return static_cast<std::uint64_t>(value);
  }
  return std::nullopt;
}

std::optional<double> JsonValue::as_number() const noexcept {
  if (kind() == Kind::kNumber) return std::bit_cast<double>(document_->nodes_[node_].bits);
  if (kind() == Kind::kInteger) return static_cast<double>(std::bit_cast<std::int64_t>(document_->nodes_[node_].bits));
  return std::nullopt;
}

std::optional<std::string_view> JsonValue::as_string() const noexcept {
  if (kind() != Kind::kString) return std::nullopt;
  const std::uint64_t bits = document_->nodes_[node_].bits;
  return std::string_view(document_->characters_).substr(bits >> 32, bits & 0xFFFFFFFF);
}

JsonValue JsonValue::find(std::string_view key) const noexcept {
  JsonValue found;
  for (const auto [name, value] : members()) {
    if (name == key) found = value;
  }
  return found;
}

std::size_t JsonValue::size() const noexcept {
  std::size_t count = 0;
  if (is_array()) {
    for ([[maybe_unused]] const JsonValue item : items()) ++count;
  } else if (is_object()) {
    for ([[maybe_unused]] const auto member : members()) ++count;
  }
  return count;
}

JsonValue::Items JsonValue::items() const noexcept {
  if (!is_array()) return {{document_, 0}, {document_, 0}};
  return {{document_, node_ + 1}, {document_, document_->nodes_[node_].end}};
}

JsonValue::Members JsonValue::members() const noexcept {
  if (!is_object()) return Members({{document_, 0}, {document_, 0}});
  return Members({{document_, node_ + 1}, {document_, document_->nodes_[node_].end}});
}

JsonValue::Items::Iterator& JsonValue::Items::Iterator::operator++() noexcept {
  node_ = document_->nodes_[node_].end;
  return *this;
}

std::pair<std::string_view, JsonValue> JsonValue::Members::Iterator::operator*() const noexcept {
  Items::Iterator value = key_;
  ++value;
  return {*(*key_).as_string(), *value};
}

JsonValue::Members::Iterator& JsonValue::Members::Iterator::operator++() noexcept {
  ++key_;
  ++key_;
  return *this;
}

}  // namespace headscope
