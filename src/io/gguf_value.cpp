#include "io/gguf_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// Real files nest arrays at most twice; parsing recurses once per level.
constexpr int kDeepestArray = 4;

[[noreturn]] void fail(const GgufContext& context, const std::string& text) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {} {}", context.file, context.object, text));
}

GgufType checked_type(std::uint32_t number, const GgufContext& context) {
  constexpr auto kLast = static_cast<std::uint32_t>(GgufType::kF64);
  if (number > kLast) fail(context, fmt::format("has type {}, expected 0 to {}", number, kLast));
  return static_cast<GgufType>(number);
}

// Size of a value of this type; for strings and arrays, whose size varies, the minimum.
constexpr std::uint64_t smallest_size(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
    case GgufType::kString:
      return 8;
    case GgufType::kArray:
      return 12;
  }
  return 0;
}

void check_bools(std::span<const std::byte> bytes, const GgufContext& context) {
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong != bytes.end()) {
    fail(context, fmt::format("has a bool of {}, expected 0 or 1", std::to_integer<int>(*wrong)));
  }
}

std::span<const std::byte> take_value(ByteReader& reader, GgufType type, int depth, const GgufContext& context);

std::span<const std::byte> take_array(ByteReader& reader, int depth, const GgufContext& context) {
  if (depth > kDeepestArray) fail(context, fmt::format("nests arrays more than {} deep", kDeepestArray));
  const std::size_t begin = reader.position();
  const std::byte* const data = reader.take(0, context.object).data();
  const GgufType type = checked_type(reader.read<std::uint32_t>(context.object), context);
  const auto count = reader.read<std::uint64_t>(context.object);
  const std::uint64_t size = smallest_size(type);
  if (count > reader.remaining() / size) {
    fail(context, fmt::format("is an array of {} elements of at least {} bytes, but only {} bytes are left", count,
                              size, reader.remaining()));
  }
  if (type == GgufType::kString || type == GgufType::kArray) {
    for (std::uint64_t i = 0; i < count; ++i) static_cast<void>(take_value(reader, type, depth + 1, context));
  } else {
    const auto elements = reader.take(count * size, context.object);
    if (type == GgufType::kBool) check_bools(elements, context);
  }
  return {data, reader.position() - begin};
}

std::span<const std::byte> take_value(ByteReader& reader, GgufType type, int depth, const GgufContext& context) {
  if (type == GgufType::kArray) return take_array(reader, depth, context);
  if (type == GgufType::kString) {
    const auto length = reader.read<std::uint64_t>(context.object);
    return reader.take(length, context.object);
  }
  const auto bytes = reader.take(smallest_size(type), context.object);
  if (type == GgufType::kBool) check_bools(bytes, context);
  return bytes;
}

template <typename T>
T load(std::span<const std::byte> bytes) noexcept {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
std::optional<std::uint64_t> load_unsigned(std::span<const std::byte> bytes) noexcept {
  const T value = load<T>(bytes);
  if (value < T{0}) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

GgufValue take_gguf_value(ByteReader& reader, std::uint32_t type, const GgufContext& context) {
  const GgufType checked = checked_type(type, context);
  return {checked, take_value(reader, checked, 1, context)};
}

std::optional<std::uint64_t> GgufValue::as_unsigned() const noexcept {
  switch (type_) {
    case GgufType::kU8:
      return load<std::uint8_t>(bytes_);
    case GgufType::kI8:
      return load_unsigned<std::int8_t>(bytes_);
    case GgufType::kU16:
      return load<std::uint16_t>(bytes_);
    case GgufType::kI16:
      return load_unsigned<std::int16_t>(bytes_);
    case GgufType::kU32:
      return load<std::uint32_t>(bytes_);
    case GgufType::kI32:
      return load_unsigned<std::int32_t>(bytes_);
    case GgufType::kU64:
      return load<std::uint64_t>(bytes_);
    case GgufType::kI64:
      return load_unsigned<std::int64_t>(bytes_);
    default:
      return std::nullopt;
  }
}

std::optional<double> GgufValue::as_number() const noexcept {
  switch (type_) {
    case GgufType::kI8:
      return load<std::int8_t>(bytes_);
    case GgufType::kI16:
      return load<std::int16_t>(bytes_);
    case GgufType::kI32:
      return load<std::int32_t>(bytes_);
    case GgufType::kI64:
      return static_cast<double>(load<std::int64_t>(bytes_));
    case GgufType::kF32:
      return load<float>(bytes_);
    case GgufType::kF64:
      return load<double>(bytes_);
    default:
      if (const auto value = as_unsigned()) return static_cast<double>(*value);
      return std::nullopt;
  }
}

std::optional<bool> GgufValue::as_bool() const noexcept {
  if (type_ != GgufType::kBool) return std::nullopt;
  return load<std::uint8_t>(bytes_) != 0;
}

std::optional<std::string_view> GgufValue::as_string() const noexcept {
  if (type_ != GgufType::kString) return std::nullopt;
  return as_text(bytes_);
}

std::optional<std::uint64_t> GgufValue::array_size() const noexcept {
  if (type_ != GgufType::kArray) return std::nullopt;
  return load<std::uint64_t>(bytes_.subspan(sizeof(std::uint32_t)));
}

std::optional<std::vector<GgufValue>> GgufValue::as_array() const {
  if (type_ != GgufType::kArray) return std::nullopt;
  ByteReader reader(bytes_, "array");
  const GgufContext context{"GGUF metadata", "array"};
  const auto type = reader.read<std::uint32_t>(context.object);
  const auto count = reader.read<std::uint64_t>(context.object);
  std::vector<GgufValue> elements;
  elements.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) elements.push_back(take_gguf_value(reader, type, context));
  return elements;
}

}  // namespace headscope
