#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headscope {

/// FNV-1a with 64 bits. Detects accidental differences; it is not a defense against an adversary.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
  }
  /// Adds the 8 bytes of the number.
  void add(std::uint64_t number) noexcept { add(std::as_bytes(std::span(&number, 1))); }
  /// Adds the length and the bytes, so that "ab", "c" differs from "a", "bc".
  void add(std::string_view text) noexcept {
    add(text.size());
    add(std::as_bytes(std::span(text)));
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  /// Returns 16 hexadecimal digits.
  [[nodiscard]] std::string digits() const;

 private:
  std::uint64_t value_ = 0xCBF29CE484222325U;
};

}  // namespace headscope
