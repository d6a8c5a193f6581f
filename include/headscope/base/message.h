#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {

/// Serializes numbers and strings into bytes, for another rank or for a file that is read back on the same machine.
class MessageWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_all(std::span(&value, 1)); }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put_all(std::span<const T> values) {
    const std::span<const std::byte> bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    put(text.size());
    put_all(std::span<const char>(text));
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Moves the buffer out.
  [[nodiscard]] std::vector<std::byte> release() && noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads values back in the order in which MessageWriter wrote them, never past the end.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// \throws Error  kFormat if too few bytes are left; the same for the other `take` functions.
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T take() {
    T value;
    take_all(std::span(&value, 1));
    return value;
  }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void take_all(std::span<T> values) {
    const std::span<const std::byte> bytes = take_bytes(values.size_bytes());
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::string take_text() {
    const std::span<const std::byte> bytes = take_bytes(take<std::size_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Returns a view, not a copy.
  [[nodiscard]] std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size())
      throw Error(ErrorKind::kFormat, "message: truncated: a value needs more bytes than are left");
    const std::span<const std::byte> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace headscope
