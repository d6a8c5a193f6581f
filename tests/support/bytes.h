#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace headscope::test {

/// Builds binary files byte by byte: `Bytes().add<std::uint32_t>(3).add_text("GGUF")`.
class Bytes {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> Bytes& add(std::type_identity_t<T> value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    data_.append(raw, sizeof(T));
    return *this;
  }
  Bytes& add_text(std::string_view text) {
    data_.append(text);
    return *this;
  }
  Bytes& pad_to(std::size_t alignment) {
    while (data_.size() % alignment != 0) data_.push_back('\0');
    return *this;
  }
  [[nodiscard]] const std::string& str() const noexcept { return data_; }

 private:
  std::string data_;
};

}  // namespace headscope::test
