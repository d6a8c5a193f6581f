#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headscope {

class JsonDocument;

/// A view of a value in a JsonDocument; the document must outlive it. Copying is free.
///
/// Accessors return nothing if the value is of another kind, so a caller can ask for what it needs and report what it
/// got. A default JsonValue is null.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };
  class Items;
  class Members;

  JsonValue() noexcept = default;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_object() const noexcept { return kind() == Kind::kObject; }
  [[nodiscard]] bool is_array() const noexcept { return kind() == Kind::kArray; }

  [[nodiscard]] std::optional<bool> as_bool() const noexcept;
  /// A nonnegative integer. 768.0 counts, 768.5 does not.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const noexcept;
  [[nodiscard]] std::optional<double> as_number() const noexcept;
  [[nodiscard]] std::optional<std::string_view> as_string() const noexcept;

  /// Returns member `key` of an object; null if there is none or this is not an object. If a key is duplicated, the
  /// last one counts. Linear in the number of members.
  [[nodiscard]] JsonValue find(std::string_view key) const noexcept;

  /// Number of items of an array or members of an object, 0 for anything else. Linear.
  [[nodiscard]] std::size_t size() const noexcept;
  /// For range-for over an array; empty for anything else.
  [[nodiscard]] Items items() const noexcept;
  /// For range-for over an object's (key, value) pairs; empty for anything else.
  [[nodiscard]] Members members() const noexcept;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t node) noexcept : document_(document), node_(node) {}

  const JsonDocument* document_ = nullptr;
  std::uint32_t node_ = 0;
};

/// What JsonDocument accepts.
enum class JsonDialect : std::uint8_t {
  kStrict,  ///< RFC 8259.
  kPython,  ///< Also the words NaN, Infinity and -Infinity, which Python's json module writes; their value is null.
};

/// A parsed JSON text (RFC 8259), stored as one array of 16-byte nodes and one of characters: construction and
/// destruction are not recursive, and memory is at most a small multiple of the text.
class JsonDocument {
 public:
  /// Maximum nesting depth.
  static constexpr std::size_t kMaxDepth = 64;

  /// `where` is the prefix of every error message, e.g. the file's name.
  /// \throws Error  kFormat if the text is not JSON or nested too deeply.
  [[nodiscard]] static JsonDocument parse(std::string_view text, std::string_view where,
                                          JsonDialect dialect = JsonDialect::kStrict);

  /// \throws Error  kIo if the file cannot be read, kFormat as `parse`.
  [[nodiscard]] static JsonDocument open(const std::filesystem::path& path, JsonDialect dialect = JsonDialect::kStrict);

  [[nodiscard]] JsonValue root() const noexcept { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonBuilder;

  // Values in the order of the text. A container is followed by its contents, those of an object as key, value, key,
  // value.
  struct Node {
    JsonValue::Kind kind = JsonValue::Kind::kNull;
    std::uint32_t end = 0;   // index after the last node inside this one
    std::uint64_t bits = 0;  // bool; int64; double; offset << 32 | length of a string
  };

  std::vector<Node> nodes_;
  std::string characters_;
};

/// The items of an array.
class JsonValue::Items {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument* document, std::uint32_t node) noexcept : document_(document), node_(node) {}
    [[nodiscard]] JsonValue operator*() const noexcept { return {document_, node_}; }
    Iterator& operator++() noexcept;
    [[nodiscard]] bool operator==(const Iterator& other) const noexcept { return node_ == other.node_; }

   private:
    const JsonDocument* document_;
    std::uint32_t node_;
  };

  Items(Iterator begin, Iterator end) noexcept : begin_(begin), end_(end) {}
  [[nodiscard]] Iterator begin() const noexcept { return begin_; }
  [[nodiscard]] Iterator end() const noexcept { return end_; }

 private:
  Iterator begin_;
  Iterator end_;
};

/// The members of an object.
class JsonValue::Members {
 public:
  class Iterator {
   public:
    explicit Iterator(Items::Iterator key) noexcept : key_(key) {}
    [[nodiscard]] std::pair<std::string_view, JsonValue> operator*() const noexcept;
    Iterator& operator++() noexcept;
    [[nodiscard]] bool operator==(const Iterator& other) const noexcept { return key_ == other.key_; }

   private:
    Items::Iterator key_;
  };

  explicit Members(Items nodes) noexcept : nodes_(nodes) {}
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(nodes_.begin()); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(nodes_.end()); }

 private:
  Items nodes_;
};

}  // namespace headscope
