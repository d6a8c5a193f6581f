#include "headscope/relate/rank_tolerance.h"

#include <algorithm>

namespace headscope {

double rank_tolerance(DType stored, std::size_t d, std::size_t h) noexcept {
  const bool wide = stored == DType::kF64 || stored == DType::kF32;
  return wide ? static_cast<double>(std::max(d, h)) * 0x1p-23 : 0;
}

}  // namespace headscope
