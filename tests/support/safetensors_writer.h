#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/shape.h"
#include "support/bytes.h"

namespace headscope::test {

/// Writes safetensors files for tests; tensors contain zeros or the given values.
class SafetensorsWriter {
 public:
  SafetensorsWriter& add(std::string_view name, const Shape& shape, std::vector<float> values = {}) {
    values.resize(static_cast<std::size_t>(*element_count(shape)));
    std::string raw(values.size() * sizeof(float), '\0');
    if (!raw.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return add_raw(name, "F32", shape, raw);
  }
  SafetensorsWriter& add_raw(std::string_view name, std::string_view dtype, const Shape& shape,
                             const std::string& raw) {
    header_ += header_.empty() ? "{" : ", ";
    header_ += "\"" + std::string(name) + "\": {\"dtype\": \"" + std::string(dtype) +
               "\", \"shape\": " + to_string(shape) + ", \"data_offsets\": [" + std::to_string(data_.size()) + ", " +
               std::to_string(data_.size() + raw.size()) + "]}";
    data_ += raw;
    return *this;
  }
  [[nodiscard]] std::string str() const {
    const std::string header = header_.empty() ? "{}" : header_ + "}";
    return Bytes().add<std::uint64_t>(header.size()).add_text(header).add_text(data_).str();
  }

 private:
  std::string header_;
  std::string data_;
};

}  // namespace headscope::test
