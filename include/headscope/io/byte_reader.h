#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace headscope {

/// Reads untrusted little-endian bytes, never past their end.
///
/// Every read first checks how many bytes are left, so a length taken from the file can be passed directly to `take`.
class ByteReader {
 public:
  /// `where` is the prefix of every error message, e.g. the file's name.
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

  /// Returns a view of the next `count` bytes.
  /// \throws Error  kFormat, naming `what`, if fewer are left.
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count, std::string_view what);

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
  std::size_t position_ = 0;
};

/// Returns a view of the bytes as text.
[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headscope
