#include "headscope/io/dtype.h"

#include <array>
#include <utility>

#include "headscope/base/shape.h"

namespace headscope {
namespace {

struct Row {
  DType dtype;
  DTypeInfo info;
  int ggml;  // number in ggml's enum ggml_type, -1 if GGUF has no such type
};

// In the order of the enum. Block sizes of the GGUF formats are those of
// gguf.constants.GGML_QUANT_SIZES.
constexpr std::array kTable = {
    Row{DType::kF64, {"F64", 1, 8, true}, 28},
    Row{DType::kF32, {"F32", 1, 4, true}, 0},
    Row{DType::kF16, {"F16", 1, 2, true}, 1},
    Row{DType::kBF16, {"BF16", 1, 2, true}, 30},
    Row{DType::kF8E4M3, {"F8_E4M3", 1, 1, true}, -1},
    Row{DType::kF8E5M2, {"F8_E5M2", 1, 1, true}, -1},
    Row{DType::kF8E8M0, {"F8_E8M0", 1, 1, false}, -1},
    Row{DType::kF6E2M3, {"F6_E2M3", 4, 3, false}, -1},
    Row{DType::kF6E3M2, {"F6_E3M2", 4, 3, false}, -1},
    Row{DType::kF4, {"F4", 2, 1, false}, -1},
    Row{DType::kI64, {"I64", 1, 8, false}, 27},
    Row{DType::kI32, {"I32", 1, 4, false}, 26},
    Row{DType::kI16, {"I16", 1, 2, false}, 25},
    Row{DType::kI8, {"I8", 1, 1, false}, 24},
    Row{DType::kU64, {"U64", 1, 8, false}, -1},
    Row{DType::kU32, {"U32", 1, 4, false}, -1},
    Row{DType::kU16, {"U16", 1, 2, false}, -1},
    Row{DType::kU8, {"U8", 1, 1, false}, -1},
    Row{DType::kBool, {"BOOL", 1, 1, false}, -1},
    Row{DType::kC64, {"C64", 1, 8, false}, -1},
    Row{DType::kQ4_0, {"Q4_0", 32, 18, true}, 2},
    Row{DType::kQ4_1, {"Q4_1", 32, 20, true}, 3},
    Row{DType::kQ5_0, {"Q5_0", 32, 22, true}, 6},
    Row{DType::kQ5_1, {"Q5_1", 32, 24, true}, 7},
    Row{DType::kQ8_0, {"Q8_0", 32, 34, true}, 8},
    Row{DType::kQ8_1, {"Q8_1", 32, 40, false}, 9},
    Row{DType::kQ2_K, {"Q2_K", 256, 84, true}, 10},
    Row{DType::kQ3_K, {"Q3_K", 256, 110, true}, 11},
    Row{DType::kQ4_K, {"Q4_K", 256, 144, true}, 12},
    Row{DType::kQ5_K, {"Q5_K", 256, 176, true}, 13},
    Row{DType::kQ6_K, {"Q6_K", 256, 210, true}, 14},
    Row{DType::kQ8_K, {"Q8_K", 256, 292, false}, 15},
    Row{DType::kIQ2_XXS, {"IQ2_XXS", 256, 66, false}, 16},
    Row{DType::kIQ2_XS, {"IQ2_XS", 256, 74, false}, 17},
    Row{DType::kIQ3_XXS, {"IQ3_XXS", 256, 98, false}, 18},
    Row{DType::kIQ1_S, {"IQ1_S", 256, 50, false}, 19},
    Row{DType::kIQ4_NL, {"IQ4_NL", 32, 18, false}, 20},
    Row{DType::kIQ3_S, {"IQ3_S", 256, 110, false}, 21},
    Row{DType::kIQ2_S, {"IQ2_S", 256, 82, false}, 22},
    Row{DType::kIQ4_XS, {"IQ4_XS", 256, 136, false}, 23},
    Row{DType::kIQ1_M, {"IQ1_M", 256, 56, false}, 29},
    Row{DType::kTQ1_0, {"TQ1_0", 256, 54, false}, 34},
    Row{DType::kTQ2_0, {"TQ2_0", 256, 66, false}, 35},
    Row{DType::kMXFP4, {"MXFP4", 32, 17, true}, 39},
    Row{DType::kGPTQ4, {"GPTQ4", 2, 1, false}, -1},
    Row{DType::kGPTQ8, {"GPTQ8", 1, 1, false}, -1},
    Row{DType::kAWQ4, {"AWQ4", 2, 1, false}, -1},
    Row{DType::kNF4, {"NF4", 2, 1, false}, -1},
    Row{DType::kFP4, {"FP4", 2, 1, false}, -1},
    Row{DType::kLlmInt8, {"LLM.int8", 1, 1, false}, -1},
    Row{DType::kINT4, {"INT4", 2, 1, false}, -1},
    Row{DType::kINT8, {"INT8", 1, 1, false}, -1},
};

constexpr bool is_in_enum_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_enum_order());

}  // namespace

const DTypeInfo& info(DType dtype) noexcept {
  return kTable[static_cast<std::size_t>(dtype)].info;
}

std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept {
  for (const Row& row : kTable) {
    if (row.dtype >= DType::kQ4_0) break;  // GGUF only from here on
    if (row.info.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_ggml(std::uint32_t number) noexcept {
  for (const Row& row : kTable) {
    if (row.ggml >= 0 && std::cmp_equal(row.ggml, number)) return row.dtype;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> stored_bytes(DType dtype, std::uint64_t elements) noexcept {
  const DTypeInfo& block = info(dtype);
  if (elements % block.block_elements != 0) return std::nullopt;
  return checked_product(elements / block.block_elements, block.block_bytes);
}

}  // namespace headscope
