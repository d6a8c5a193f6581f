// The loop over plain types is compiled once per SIMD target, and the compiler vectorizes it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/spacing.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "headscope/io/spacing.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

// Chunks of constant length, as in decode_plain.cpp.
constexpr std::size_t kChunk = 64;

HWY_INLINE std::uint32_t spacing_bits(float value, std::uint32_t least, std::uint32_t mantissa) {
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(value) & 0x7F800000U;
  return (exponent > least ? exponent : least) - mantissa;
}

// `least` and `mantissa` are exponent bits of a float: those of the smallest normal number of the type, and its number
// of mantissa bits.
void plain_spacings_here(const float* HWY_RESTRICT decoded, std::size_t count, std::uint32_t least,
                         std::uint32_t mantissa, float* HWY_RESTRICT spacings) {
  std::size_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    for (std::size_t k = 0; k < kChunk; ++k) {
      spacings[i + k] = std::bit_cast<float>(spacing_bits(decoded[i + k], least, mantissa));
    }
  }
  for (; i < count; ++i) spacings[i] = std::bit_cast<float>(spacing_bits(decoded[i], least, mantissa));
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/io/code_book.h"
#include "io/decode_kernels.h"

namespace headscope {
namespace {

HWY_EXPORT(plain_spacings_here);

// Exponent of the smallest normal number, and the number of mantissa bits.
void plain_spacings(int exponent, std::uint32_t mantissa, std::span<const float> decoded, std::span<float> spacings) {
  // The result must be a normal float.
  const std::uint32_t least = std::max(static_cast<std::uint32_t>(exponent + 127), mantissa + 1);
  HWY_DYNAMIC_DISPATCH(plain_spacings_here)
  (decoded.data(), decoded.size(), least << 23, mantissa << 23, spacings.data());
}

using Block = const std::uint8_t*;

// Step of a format with one scale per block, which begins with it.
void fill_block(Block block, std::span<float> out) {
  std::ranges::fill(out, std::abs(load_f16(block)));
}

// The functions below give the steps of the groups of a K format; `decode_quantized.cpp` has the layouts.
void fill_group(std::span<float> out, std::size_t groups, std::size_t group, float step) {
  const std::size_t size = out.size() / groups;
  std::ranges::fill(out.subspan(group * size, size), std::abs(step));
}

void fill_q2_k(Block block, std::span<float> out) {
  const float scale = load_f16(block + 80);
  for (std::size_t g = 0; g < 16; ++g) fill_group(out, 16, g, scale * static_cast<float>(block[g] & 15));
}

void fill_q3_k(Block block, std::span<float> out) {
  const Block packed = block + 96;
  const float scale = load_f16(block + 108);
  for (std::size_t g = 0; g < 16; ++g) {
    const int low = (packed[g % 8] >> (4 * (g / 8))) & 15;
    const int high = (packed[8 + g % 4] >> (2 * (g / 4))) & 3;
    fill_group(out, 16, g, scale * static_cast<float>((low | (high << 4)) - 32));
  }
}

void fill_q4_k_or_q5_k(Block block, std::span<float> out) {
  const float scale = load_f16(block);
  const Block packed = block + 4;
  for (std::size_t g = 0; g < 4; ++g) {
    const int upper = (packed[g + 8] & 15) | ((packed[g] >> 6) << 4);
    fill_group(out, 8, g, scale * static_cast<float>(packed[g] & 63));
    fill_group(out, 8, g + 4, scale * static_cast<float>(upper));
  }
}

void fill_q6_k(Block block, std::span<float> out) {
  const float scale = load_f16(block + 208);
  for (std::size_t g = 0; g < 16; ++g) {
    fill_group(out, 16, g, scale * static_cast<float>(static_cast<std::int8_t>(block[192 + g])));
  }
}

void fill_mxfp4(Block block, std::span<float> out) {
  const CodeBook& book = e2m1_code_book();
  const float factor = e8m0_factor(block[0]);
  for (std::size_t i = 0; i < 16; ++i) {
    out[i] = factor * book.steps[block[1 + i] & 15U];
    out[i + 16] = factor * book.steps[block[1 + i] >> 4U];
  }
}

template <void (*fill)(Block, std::span<float>)>
void quantized_spacings(const DTypeInfo& type, std::span<const std::byte> blocks, std::span<float> spacings) {
  const auto* block = reinterpret_cast<Block>(blocks.data());
  for (std::size_t first = 0; first < spacings.size(); first += type.block_elements, block += type.block_bytes) {
    fill(block, spacings.subspan(first, type.block_elements));
  }
}

}  // namespace

bool has_spacings(DType dtype) noexcept {
  const DTypeInfo& type = info(dtype);
  return type.decodable && type.block_bytes < 4 * type.block_elements;
}

void find_spacings(DType dtype, std::span<const std::byte> blocks, std::span<const float> decoded,
                   std::span<float> spacings) {
  const DTypeInfo& type = info(dtype);
  if (spacings.size() != decoded.size() || spacings.size() % type.block_elements != 0 ||
      blocks.size() != spacings.size() / type.block_elements * type.block_bytes) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("find_spacings: {} bytes of {} and {} floats do not match",
                                                         blocks.size(), type.name, spacings.size()));
  }
  switch (dtype) {
    case DType::kF16:
      return plain_spacings(-14, 10, decoded, spacings);
    case DType::kBF16:
      return plain_spacings(-126, 7, decoded, spacings);
    case DType::kF8E4M3:
      return plain_spacings(-6, 3, decoded, spacings);
    case DType::kF8E5M2:
      return plain_spacings(-14, 2, decoded, spacings);
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
      return quantized_spacings<fill_block>(type, blocks, spacings);
    case DType::kQ2_K:
      return quantized_spacings<fill_q2_k>(type, blocks, spacings);
    case DType::kQ3_K:
      return quantized_spacings<fill_q3_k>(type, blocks, spacings);
    case DType::kQ4_K:
    case DType::kQ5_K:
      return quantized_spacings<fill_q4_k_or_q5_k>(type, blocks, spacings);
    case DType::kQ6_K:
      return quantized_spacings<fill_q6_k>(type, blocks, spacings);
    case DType::kMXFP4:
      return quantized_spacings<fill_mxfp4>(type, blocks, spacings);
    default:
      throw Error(ErrorKind::kUnsupported, fmt::format("find_spacings: not for {}", type.name));
  }
}

}  // namespace headscope
#endif
