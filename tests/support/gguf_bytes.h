#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/gguf.h"
#include "support/bytes.h"

namespace headscope::test {

/// Builds a GGUF file; writes whatever it is given, valid or not.
class GgufBytes {
 public:
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> entry_count;   ///< Overrides the true count.
  std::optional<std::uint64_t> tensor_count;  ///< Overrides the true count.
  std::size_t alignment = 32;  ///< Alignment of the data; `add_u32("general.alignment", ...)` is separate.

  static Bytes text(std::string_view text) { return Bytes().add<std::uint64_t>(text.size()).add_text(text); }

  GgufBytes& add(std::string_view key, std::uint32_t type, const Bytes& value) {
    entries_.add_text(text(key).str()).add<std::uint32_t>(type).add_text(value.str());
    ++entries_added_;
    return *this;
  }
  GgufBytes& add(std::string_view key, GgufType type, const Bytes& value) {
    return add(key, static_cast<std::uint32_t>(type), value);
  }
  GgufBytes& add_u32(std::string_view key, std::uint32_t value) {
    return add(key, GgufType::kU32, Bytes().add<std::uint32_t>(value));
  }
  GgufBytes& add_string(std::string_view key, std::string_view value) {
    return add(key, GgufType::kString, text(value));
  }

  /// Extents in GGUF order, innermost first. The data follow those of the previous tensor.
  GgufBytes& add_tensor(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t ggml_type,
                        std::string_view data) {
    data_.pad_to(alignment);
    add_tensor_at(name, extents, ggml_type, data_.str().size());
    data_.add_text(data);
    return *this;
  }
  /// Adds only the tensor's header, without data.
  GgufBytes& add_tensor_at(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t ggml_type,
                           std::uint64_t offset) {
    tensors_.add_text(text(name).str()).add<std::uint32_t>(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) tensors_.add<std::uint64_t>(extent);
    tensors_.add<std::uint32_t>(ggml_type).add<std::uint64_t>(offset);
    ++tensors_added_;
    return *this;
  }

  [[nodiscard]] std::string str() const {
    Bytes file;
    file.add_text(magic).add<std::uint32_t>(version);
    file.add<std::uint64_t>(tensor_count.value_or(tensors_added_));
    file.add<std::uint64_t>(entry_count.value_or(entries_added_));
    file.add_text(entries_.str()).add_text(tensors_.str());
    if (!data_.str().empty()) file.pad_to(alignment).add_text(data_.str());
    return file.str();
  }

 private:
  Bytes entries_;
  Bytes tensors_;
  Bytes data_;
  std::uint64_t entries_added_ = 0;
  std::uint64_t tensors_added_ = 0;
};

}  // namespace headscope::test
