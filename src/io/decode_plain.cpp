// One element at a time: the loops below are compiled once per SIMD target, and the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/decode_plain.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "io/decode_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

struct FromF64 {
  using Stored = double;
  static HWY_INLINE std::uint32_t float_bits(double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
};

struct FromF16 {
  using Stored = std::uint16_t;
  static HWY_INLINE std::uint32_t float_bits(std::uint32_t half) { return float_bits_from_f16(half); }
};

struct FromBF16 {
  using Stored = std::uint16_t;
  static HWY_INLINE std::uint32_t float_bits(std::uint32_t upper) { return upper << 16; }
};

// The "fn" variant, as in safetensors: no infinities, NaN is all ones.
struct FromF8E4M3 {
  using Stored = std::uint8_t;
  static HWY_INLINE std::uint32_t float_bits(std::uint32_t byte) {
    const std::uint32_t sign = (byte & 0x80U) << 24;
    const std::uint32_t magnitude = byte & 0x7FU;
    const std::uint32_t normal = (magnitude << 20) + ((127U - 7U) << 23);
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9F);
    const std::uint32_t finite = select(magnitude < 0x08U, subnormal, normal);
    return sign | select(magnitude == 0x7FU, 0x7FC00000U, finite);
  }
};

// The upper byte of an IEEE half.
struct FromF8E5M2 {
  using Stored = std::uint8_t;
  static HWY_INLINE std::uint32_t float_bits(std::uint32_t byte) { return float_bits_from_f16(byte << 8); }
};

// Processes chunks of constant length: gcc vectorizes such a loop even at -O2, without a remainder loop after each
// chunk.
constexpr std::size_t kChunk = 64;

template <typename From>
HWY_INLINE void decode_chunk(const std::byte* HWY_RESTRICT stored, float* HWY_RESTRICT out) {
  using Stored = typename From::Stored;
  for (std::size_t i = 0; i < kChunk; ++i) {
    Stored element;
    std::memcpy(&element, stored + i * sizeof(Stored), sizeof(Stored));  // may be unaligned in the file
    const std::uint32_t bits = From::float_bits(element);
    std::memcpy(out + i, &bits, sizeof bits);
  }
}

template <typename From>
void decode_all(const std::byte* stored, std::size_t count, float* out) {
  constexpr std::size_t kSize = sizeof(typename From::Stored);
  std::size_t i = 0;
  for (; i + kChunk <= count; i += kChunk) decode_chunk<From>(stored + i * kSize, out + i);
  if (i == count) return;
  std::byte padded[kChunk * kSize] = {};
  float decoded[kChunk];
  std::memcpy(padded, stored + i * kSize, (count - i) * kSize);
  decode_chunk<From>(padded, decoded);
  std::memcpy(out + i, decoded, (count - i) * sizeof(float));
}

void decode_plain_here(DType dtype, const std::byte* stored, std::size_t count, float* out) {
  switch (dtype) {
    case DType::kF64:
      return decode_all<FromF64>(stored, count, out);
    case DType::kF16:
      return decode_all<FromF16>(stored, count, out);
    case DType::kBF16:
      return decode_all<FromBF16>(stored, count, out);
    case DType::kF8E4M3:
      return decode_all<FromF8E4M3>(stored, count, out);
    case DType::kF8E5M2:
      return decode_all<FromF8E5M2>(stored, count, out);
    default:
      assert(false && "decode() lets only these types through");
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(decode_plain_here);

void decode_plain(DType dtype, const std::byte* stored, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(decode_plain_here)(dtype, stored, count, out);
}

}  // namespace headscope
#endif
