#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headscope {

/// Encoding of the elements of a stored tensor. The first group are the element types of safetensors and npy, the
/// second the block formats of GGUF, the third what libraries make of several tensors (`PackedWeight`).
enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF6E2M3,
  kF6E3M2,
  kF4,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kC64,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ3_XXS,
  kIQ1_S,
  kIQ4_NL,
  kIQ3_S,
  kIQ2_S,
  kIQ4_XS,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kGPTQ4,
  kGPTQ8,
  kAWQ4,
  kNF4,
  kFP4,
  kLlmInt8,
  kINT4,
  kINT8,
};

/// Properties of a DType. Elements are stored in blocks of `block_elements` that take `block_bytes`; for plain types a
/// block is one element.
struct DTypeInfo {
  std::string_view name;  ///< As spelled in files: "F32", "BF16", "F8_E4M3", "Q4_K".
  std::size_t block_elements;
  std::size_t block_bytes;
  bool decodable;  ///< Whether `decode` supports it.
};

[[nodiscard]] const DTypeInfo& info(DType dtype) noexcept;

/// Returns the type with this safetensors name, if there is one.
[[nodiscard]] std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept;

/// Returns the type with this ggml number (`enum ggml_type`), if there is one.
[[nodiscard]] std::optional<DType> dtype_from_ggml(std::uint32_t number) noexcept;

/// Returns the number of bytes of `elements` elements, or nothing if they do not fill whole blocks or the number does
/// not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> stored_bytes(DType dtype, std::uint64_t elements) noexcept;

}  // namespace headscope
