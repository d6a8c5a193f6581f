#include "report/page_data.h"

#include <cmath>

#include "report/quantize.h"

namespace headscope::report {

Json PageData::add_quantized(std::span<const float> values, const Shape& shape, int bits, int power, bool by_slice) {
  const std::size_t slices = by_slice && !shape.empty() && shape.front() > 0 ? shape.front() : 1;
  const std::size_t size = values.size() / slices;
  std::vector<std::byte> bytes;
  Json low = Json::array();
  Json high = Json::array();
  for (std::size_t i = 0; i < slices; ++i) {
    const Quantized slice = quantize(values.subspan(i * size, size), bits, power);
    bytes.insert(bytes.end(), slice.bytes.begin(), slice.bytes.end());
    low.push_back(slice.low);
    high.push_back(slice.high);
  }
  return {{"block", blocks.add(bytes)},
          {"type", bits == 8 ? "u8" : "u16"},
          {"shape", shape},
          {"low", low},
          {"high", high},
          {"power", power}};
}

Json PageData::add_floats(std::span<const float> values, const Shape& shape) {
  return {{"block", blocks.add(std::as_bytes(values))}, {"type", "f32"}, {"shape", shape}};
}

Json as_json(JsonValue value) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      return nullptr;
    case JsonValue::Kind::kBool:
      return *value.as_bool();
    case JsonValue::Kind::kString:
      return std::string(*value.as_string());
    case JsonValue::Kind::kInteger:
      if (const auto number = value.as_unsigned()) return *number;
      [[fallthrough]];
    case JsonValue::Kind::kNumber: {
      const double number = value.as_number().value_or(0);
      return std::isfinite(number) ? Json(number) : Json(nullptr);
    }
    case JsonValue::Kind::kArray: {
      Json array = Json::array();
      for (const JsonValue item : value.items()) array.push_back(as_json(item));
      return array;
    }
    case JsonValue::Kind::kObject: {
      Json object = Json::object();
      for (const auto [key, member] : value.members()) object[std::string(key)] = as_json(member);
      return object;
    }
  }
  return nullptr;
}

}  // namespace headscope::report
