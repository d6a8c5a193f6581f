#include "headscope/relate/rank_tolerance.h"

#include <algorithm>

namespace headscope {

double rank_tolerance(DType stored, std::size_t d, std::size_t h) noexcept {
  switch (stored) {
    case DType::kF64:
    case DType::kF32:
      return static_cast<double>(std::max(d, h)) * 0x1p-23;  // F64 weights are rounded to float when read
    case DType::kF16:
      return 0x1p-11;
    case DType::kF8E4M3:
      return 0x1p-4;
    case DType::kF8E5M2:
      return 0x1p-3;
    default:
      return 0x1p-8;
  }
}

}  // namespace headscope
