// The block formats of GGUF. A block contains a scale (and for some formats a minimum) as IEEE halves and its elements
// as small integers q; an element is scale * q, scale * q + minimum or scale * q - minimum. In the K formats, every
// group of 16 or 32 elements has its own scale, stored as a small integer that multiplies the scale of the block.
//
// The layout comments below list the fields of a block with their sizes in bytes.
//
// The loops are compiled once per SIMD target, and the compiler vectorizes them. Every target gives the same bits, with
// or without fused multiply-add: a half has 11 significant bits, a group's scale at most 7 and q at most 6, so every
// product is exact in float and only the sum is rounded.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/decode_quantized.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headscope/io/dtype.h"
#include "io/decode_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

using Block = const std::uint8_t* HWY_RESTRICT;
using Floats = float* HWY_RESTRICT;

// scale: 2, q + 8: 16 bytes of two nibbles, the low ones first.
HWY_INLINE void decode_q4_0(Block block, Floats out) {
  const float scale = load_f16(block);
  const Block q = block + 2;
  for (int i = 0; i < 16; ++i) out[i] = scale * static_cast<float>((q[i] & 15) - 8);
  for (int i = 0; i < 16; ++i) out[i + 16] = scale * static_cast<float>((q[i] >> 4) - 8);
}

// scale: 2, minimum: 2, q: 16 as in Q4_0.
HWY_INLINE void decode_q4_1(Block block, Floats out) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  const Block q = block + 4;
  for (int i = 0; i < 16; ++i) out[i] = scale * static_cast<float>(q[i] & 15) + minimum;
  for (int i = 0; i < 16; ++i) out[i + 16] = scale * static_cast<float>(q[i] >> 4) + minimum;
}

// The fifth bits of 32 elements, one bit each; the others are nibbles as in Q4_0.
HWY_INLINE void unpack_five_bits(Block fifth_bits, Block nibbles, std::int32_t* HWY_RESTRICT q) {
  std::uint32_t fifth = 0;
  std::memcpy(&fifth, fifth_bits, sizeof fifth);
  for (unsigned i = 0; i < 16; ++i) {
    q[i] = static_cast<std::int32_t>((nibbles[i] & 15U) | (((fifth >> i) & 1U) << 4));
  }
  for (unsigned i = 0; i < 16; ++i) {
    q[i + 16] = static_cast<std::int32_t>((nibbles[i] >> 4U) | (((fifth >> (i + 16)) & 1U) << 4));
  }
}

// scale: 2, fifth bits of q + 16: 4, nibbles: 16.
HWY_INLINE void decode_q5_0(Block block, Floats out) {
  const float scale = load_f16(block);
  std::int32_t q[32];
  unpack_five_bits(block + 2, block + 6, q);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(q[i] - 16);
}

// scale: 2, minimum: 2, fifth bits of q: 4, nibbles: 16.
HWY_INLINE void decode_q5_1(Block block, Floats out) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  std::int32_t q[32];
  unpack_five_bits(block + 4, block + 8, q);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(q[i]) + minimum;
}

// scale: 2, q: 32 signed bytes.
HWY_INLINE void decode_q8_0(Block block, Floats out) {
  const float scale = load_f16(block);
  const Block q = block + 2;
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(static_cast<std::int8_t>(q[i]));
}

// 16 groups of 16. group scales (low nibble) and minima (high): 16, q: 64,
// scale: 2, scale of the minima: 2. Byte i of each 32 bytes of q holds elements
// i, i + 32, i + 64 and i + 96 of 128, from the low bits up.
HWY_INLINE void decode_q2_k(Block block, Floats out) {
  const float scale = load_f16(block + 80);
  const float minimum_scale = load_f16(block + 82);
  for (int group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(block[group] & 15);
    const float minimum = minimum_scale * static_cast<float>(block[group] >> 4);
    const Block q = block + 16 + 32 * (group / 8) + 16 * (group % 2);
    const int shift = 2 * (group % 8 / 2);
    const Floats to = out + 16 * group;
    for (int i = 0; i < 16; ++i) to[i] = group_scale * static_cast<float>((q[i] >> shift) & 3) - minimum;
  }
}

// 16 groups of 16. third bits of q + 4: 32, lower bits: 64 as in Q2_K, group
// scales + 32: 12, scale: 2. Bit b of third byte i belongs to element 32 b + i.
// The scales' low nibbles are the 16 nibbles of the first 8 bytes (low ones
// first); the last 4 bytes hold the upper two bits, scale g in byte g % 4.
HWY_INLINE void decode_q3_k(Block block, Floats out) {
  const Block packed = block + 96;
  const float scale = load_f16(block + 108);
  for (int group = 0; group < 16; ++group) {
    const int low = (packed[group % 8] >> (4 * (group / 8))) & 15;
    const int high = (packed[8 + group % 4] >> (2 * (group / 4))) & 3;
    const float group_scale = scale * static_cast<float>((low | (high << 4)) - 32);
    const Block third = block + 16 * (group % 2);
    const Block q = block + 32 + 32 * (group / 8) + 16 * (group % 2);
    const int shift = 2 * (group % 8 / 2);
    const int bit = group / 2;
    const Floats to = out + 16 * group;
    for (int i = 0; i < 16; ++i) {
      const int value = ((q[i] >> shift) & 3) | (((third[i] >> bit) & 1) << 2);
      to[i] = group_scale * static_cast<float>(value - 4);
    }
  }
}

struct GroupScale {
  float scale;
  float minimum;
};

// Q4_K and Q5_K begin alike. scale: 2, scale of the minima: 2, then 12 bytes of
// 6-bit integers for 8 groups. Groups 0 to 3: the low bits of byte g (scale)
// and g + 4 (minimum). Groups 4 to 7: the nibbles of byte g + 4, topped by the
// upper two bits of bytes g - 4 and g.
HWY_INLINE void unpack_groups(Block block, GroupScale* HWY_RESTRICT groups) {
  const float scale = load_f16(block);
  const float minimum_scale = load_f16(block + 2);
  const Block packed = block + 4;
  for (int g = 0; g < 4; ++g) {
    const int upper_scale = (packed[g + 8] & 15) | ((packed[g] >> 6) << 4);
    const int upper_minimum = (packed[g + 8] >> 4) | ((packed[g + 4] >> 6) << 4);
    groups[g] = {scale * static_cast<float>(packed[g] & 63), minimum_scale * static_cast<float>(packed[g + 4] & 63)};
    groups[g + 4] = {scale * static_cast<float>(upper_scale), minimum_scale * static_cast<float>(upper_minimum)};
  }
}

// 8 groups of 32. head: 16, q: 128; each 32 bytes hold a group in their low
// nibbles and the next in the high ones.
HWY_INLINE void decode_q4_k(Block block, Floats out) {
  GroupScale groups[8];
  unpack_groups(block, groups);
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = groups[group];
    const Block q = block + 16 + 32 * (group / 2);
    const int shift = 4 * (group % 2);
    const Floats to = out + 32 * group;
    for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>((q[i] >> shift) & 15) - minimum;
  }
}

// 8 groups of 32. head: 16, fifth bits: 32 (bit g of byte i: element i of group
// g), nibbles: 128 as in Q4_K.
HWY_INLINE void decode_q5_k(Block block, Floats out) {
  GroupScale groups[8];
  unpack_groups(block, groups);
  const Block fifth = block + 16;
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = groups[group];
    const Block q = block + 48 + 32 * (group / 2);
    const int shift = 4 * (group % 2);
    const Floats to = out + 32 * group;
    for (int i = 0; i < 32; ++i) {
      const int value = ((q[i] >> shift) & 15) | (((fifth[i] >> group) & 1) << 4);
      to[i] = scale * static_cast<float>(value) - minimum;
    }
  }
}

// 16 groups of 16. nibbles of q + 32: 128, upper two bits: 64, group scales: 16
// signed bytes, scale: 2. Of each half of 128 elements, 64 bytes hold the first
// 64 in their low nibbles and the rest in the high ones; byte i of 32 holds the
// upper bits of elements i, i + 32, i + 64 and i + 96, from the low bits up.
HWY_INLINE void decode_q6_k(Block block, Floats out) {
  const float scale = load_f16(block + 208);
  for (int group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
    const Block nibbles = block + 64 * (group / 8) + 16 * (group % 4);
    const Block upper = block + 128 + 32 * (group / 8) + 16 * (group % 2);
    const int nibble_shift = 4 * (group % 8 / 4);
    const int upper_shift = 2 * (group % 8 / 2);
    const Floats to = out + 16 * group;
    for (int i = 0; i < 16; ++i) {
      const int value = ((nibbles[i] >> nibble_shift) & 15) | (((upper[i] >> upper_shift) & 3) << 4);
      to[i] = group_scale * static_cast<float>(value - 32);
    }
  }
}

// Twice the numbers that the codes of FP4 E2M1 stand for.
constexpr std::int8_t kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// exponent + 127 of the scale: 1, codes: 16 bytes of two nibbles, the low ones first.
HWY_INLINE void decode_mxfp4(Block block, Floats out) {
  // Half of the scale, 2^(exponent - 128), is subnormal for the two smallest exponents.
  const std::uint32_t exponent = block[0];
  const float half = std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
  const Block q = block + 1;
  for (int i = 0; i < 16; ++i) out[i] = half * static_cast<float>(kTwiceE2m1[q[i] & 15]);
  for (int i = 0; i < 16; ++i) out[i + 16] = half * static_cast<float>(kTwiceE2m1[q[i] >> 4]);
}

template <void (*decode_block)(Block, Floats)>
void decode_all(DType dtype, const std::byte* stored, std::size_t blocks, float* out) {
  const DTypeInfo& type = info(dtype);
  const auto* block = reinterpret_cast<const std::uint8_t*>(stored);
  for (std::size_t i = 0; i < blocks; ++i) {
    decode_block(block, out);
    block += type.block_bytes;
    out += type.block_elements;
  }
}

void decode_quantized_here(DType dtype, const std::byte* stored, std::size_t blocks, float* out) {
  switch (dtype) {
    case DType::kQ4_0:
      return decode_all<decode_q4_0>(dtype, stored, blocks, out);
    case DType::kQ4_1:
      return decode_all<decode_q4_1>(dtype, stored, blocks, out);
    case DType::kQ5_0:
      return decode_all<decode_q5_0>(dtype, stored, blocks, out);
    case DType::kQ5_1:
      return decode_all<decode_q5_1>(dtype, stored, blocks, out);
    case DType::kQ8_0:
      return decode_all<decode_q8_0>(dtype, stored, blocks, out);
    case DType::kQ2_K:
      return decode_all<decode_q2_k>(dtype, stored, blocks, out);
    case DType::kQ3_K:
      return decode_all<decode_q3_k>(dtype, stored, blocks, out);
    case DType::kQ4_K:
      return decode_all<decode_q4_k>(dtype, stored, blocks, out);
    case DType::kQ5_K:
      return decode_all<decode_q5_k>(dtype, stored, blocks, out);
    case DType::kQ6_K:
      return decode_all<decode_q6_k>(dtype, stored, blocks, out);
    case DType::kMXFP4:
      return decode_all<decode_mxfp4>(dtype, stored, blocks, out);
    default:
      assert(false && "decode() lets only these types through");
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(decode_quantized_here);

void decode_quantized(DType dtype, const std::byte* stored, std::size_t blocks, float* out) {
  HWY_DYNAMIC_DISPATCH(decode_quantized_here)(dtype, stored, blocks, out);
}

}  // namespace headscope
#endif
