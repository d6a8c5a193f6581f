#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/io/npy.h"

namespace headscope {
namespace {

static_assert(std::endian::native == std::endian::little, "little-endian arrays are read as they are");

// IEEE half, for which C++ has no type.
struct Half {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

template <std::size_t kSize>
using Unsigned = std::conditional_t<
    kSize == 1, std::uint8_t,
    std::conditional_t<kSize == 2, std::uint16_t, std::conditional_t<kSize == 4, std::uint32_t, std::uint64_t>>>;

std::uint8_t swapped(std::uint8_t bits) {
  return bits;
}
std::uint16_t swapped(std::uint16_t bits) {
  return __builtin_bswap16(bits);
}
std::uint32_t swapped(std::uint32_t bits) {
  return __builtin_bswap32(bits);
}
std::uint64_t swapped(std::uint64_t bits) {
  return __builtin_bswap64(bits);
}

// Exact: every half is a float.
float to_float(Half half) {
  const std::uint32_t sign = (half.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (half.bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = half.bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24F) | sign);
  }
  const std::uint32_t rebiased = exponent == 0x1F ? 0xFFU : exponent + (127 - 15);  // infinities and NaNs are preserved
  return std::bit_cast<float>(sign | (rebiased << 23) | (mantissa << 13));
}

// Converts elements and records whether any was out of the range of T.
template <typename T>
struct Converter {
  bool out_of_range = false;

  T operator()(Half value) { return static_cast<T>(to_float(value)); }
  T operator()(Bool value) { return static_cast<T>(value.byte != 0); }
  template <typename Source>
  T operator()(Source value) {
    const T result = static_cast<T>(value);
    if constexpr (std::is_same_v<T, float> && std::is_same_v<Source, double>) {
      out_of_range |= std::isinf(result) && !std::isinf(value);
    }
    if constexpr (std::is_same_v<T, std::int64_t> && std::is_same_v<Source, std::uint64_t>) {
      out_of_range |= value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    }
    return result;
  }
};

template <typename Source>
Source load(const std::byte* data, std::size_t index, bool swap) {
  Unsigned<sizeof(Source)> bits;
  std::memcpy(&bits, data + index * sizeof(Source), sizeof(Source));
  return std::bit_cast<Source>(swap ? swapped(bits) : bits);
}

// Reorders Fortran order to C order. The first axis is contiguous in the source and the last axis in the result, so
// these two are processed in tiles that fit in cache; the axes between them are iterated one index at a time.
template <typename Read, typename T>
void reorder(const Shape& shape, const Read& read, std::span<T> out) {
  constexpr std::size_t kTile = 32;
  const std::size_t first = shape.front();
  const std::size_t last = shape.back();
  const std::size_t source_step = out.size() / last;  // between neighbors on the last axis
  const std::size_t out_step = out.size() / first;    // between neighbors on the first axis
  Shape middle(shape.size() - 2, 0);                  // index on the axes between
  for (std::size_t m = 0; m < out.size() / first / last; ++m) {
    std::size_t source_base = 0;
    for (std::size_t axis = middle.size(); axis-- > 0;) source_base = source_base * shape[axis + 1] + middle[axis];
    source_base *= first;
    const std::size_t out_base = m * last;
    for (std::size_t i0 = 0; i0 < first; i0 += kTile) {
      for (std::size_t j0 = 0; j0 < last; j0 += kTile) {
        for (std::size_t i = i0; i < std::min(first, i0 + kTile); ++i) {
          for (std::size_t j = j0; j < std::min(last, j0 + kTile); ++j) {
            out[i * out_step + out_base + j] = read(source_base + i + j * source_step);
          }
        }
      }
    }
    for (std::size_t axis = middle.size(); axis-- > 0;) {  // last axis fastest, like m
      if (++middle[axis] < shape[axis + 1]) break;
      middle[axis] = 0;
    }
  }
}

// Converts elements of an array in C order, starting at `first`. Returns false if a value does not fit T.
template <typename Source, typename T>
bool convert_some(const NpyView& array, std::size_t first, std::span<T> out) {
  const bool swap = array.type.big_endian;
  const std::byte* const data = array.bytes.data() + first * sizeof(Source);
  if (std::is_same_v<Source, T> && !swap) {
    std::memcpy(out.data(), data, out.size_bytes());
    return true;
  }
  Converter<T> converter;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = converter(load<Source>(data, i, swap));
  return !converter.out_of_range;
}

template <typename Source, typename T>
bool convert(const NpyView& array, std::size_t first, std::span<T> out) {
  if (array.in_c_order()) return convert_some<Source>(array, first, out);
  Converter<T> converter;
  const std::byte* const data = array.bytes.data();
  const bool swap = array.type.big_endian;
  reorder(
      array.shape, [&](std::size_t index) { return converter(load<Source>(data, index, swap)); }, out);
  return !converter.out_of_range;
}

template <typename T>
using Convert = bool (*)(const NpyView&, std::size_t, std::span<T>);

// Returns the function that converts from this type, or null.
template <typename T>
Convert<T> converter_from(const NpyType& type) {
  switch (type.kind) {
    case 'b':
      return type.size == 1 ? convert<Bool, T> : nullptr;
    case 'i':
      if (type.size == 1) return convert<std::int8_t, T>;
      if (type.size == 2) return convert<std::int16_t, T>;
      if (type.size == 4) return convert<std::int32_t, T>;
      return type.size == 8 ? convert<std::int64_t, T> : nullptr;
    case 'u':
      if (type.size == 1) return convert<std::uint8_t, T>;
      if (type.size == 2) return convert<std::uint16_t, T>;
      if (type.size == 4) return convert<std::uint32_t, T>;
      return type.size == 8 ? convert<std::uint64_t, T> : nullptr;
    case 'f':
      if constexpr (std::is_floating_point_v<T>) {
        if (type.size == 2) return convert<Half, T>;
        if (type.size == 4) return convert<float, T>;
        if (type.size == 8) return convert<double, T>;
      }
      return nullptr;
    default:
      return nullptr;
  }
}

template <typename T>
std::string name_of() {
  return fmt::format("{}{}", std::is_floating_point_v<T> ? "float" : "int", 8 * sizeof(T));
}

// Checks the array; returns the conversion function and the number of elements.
template <typename T>
std::pair<Convert<T>, std::size_t> check(const NpyView& array, std::string_view where) {
  const Convert<T> convert_to = converter_from<T>(array.type);
  if (convert_to == nullptr) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: elements of type {}{} do not convert to {}", where,
                                                     array.type.kind, array.type.size, name_of<T>()));
  }
  const std::optional<std::uint64_t> count = element_count(array.shape);
  if (!count || checked_product(*count, array.type.size) != array.bytes.size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {} bytes do not fill an array of shape {}", where,
                                                         array.bytes.size(), to_string(array.shape)));
  }
  return {convert_to, static_cast<std::size_t>(*count)};
}

template <typename T>
void convert_or_throw(Convert<T> convert_to, const NpyView& array, std::size_t first, std::span<T> out,
                      std::string_view where) {
  if (out.empty() || convert_to(array, first, out)) return;
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: some elements of type {}{} are out of the range of {}", where,
                                                   array.type.kind, array.type.size, name_of<T>()));
}

}  // namespace

template <typename T>
std::vector<T> npy_values(const NpyView& array, std::string_view where) {
  const auto [convert_to, count] = check<T>(array, where);
  std::vector<T> values(count);
  convert_or_throw<T>(convert_to, array, 0, values, where);
  return values;
}

template <typename T>
void read_npy(const NpyView& array, std::size_t first, std::span<T> out, std::string_view where) {
  const auto [convert_to, count] = check<T>(array, where);
  if (!array.in_c_order() || first > count || out.size() > count - first) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: elements {} to {} requested, expected a range of the {} elements of an array in C order",
                    where, first, first + out.size(), count));
  }
  convert_or_throw<T>(convert_to, array, first, out, where);
}

template std::vector<float> npy_values<float>(const NpyView&, std::string_view);
template std::vector<double> npy_values<double>(const NpyView&, std::string_view);
template std::vector<std::int64_t> npy_values<std::int64_t>(const NpyView&, std::string_view);
template void read_npy<float>(const NpyView&, std::size_t, std::span<float>, std::string_view);
template void read_npy<double>(const NpyView&, std::size_t, std::span<double>, std::string_view);
template void read_npy<std::int64_t>(const NpyView&, std::size_t, std::span<std::int64_t>, std::string_view);

}  // namespace headscope
