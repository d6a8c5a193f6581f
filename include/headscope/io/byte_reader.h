#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace headscope {

/// Walks through untrusted little-endian bytes and never past their end.
///
/// Every read checks what is left first, so a length taken from the file can be
/// handed straight to `take`.
class ByteReader {
 public:
  /// `where` begins the message of every error, e.g. the file's name.
  ByteReader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - position_; }

  /// \throws Error  kFormat if fewer than sizeof(T) bytes are left.
  template <typename T>
  requires std::is_arithmetic_v<T>
  [[nodiscard]] T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// The next `count` bytes, in place.
  /// \throws Error  kFormat, naming `what`, if fewer are left.
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count, std::string_view what);

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
  std::size_t position_ = 0;
};

/// The bytes as text, in place.
[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headscope
