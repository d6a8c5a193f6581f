#pragma once

#include <cmath>

namespace headscope {

/// 1 / (1 + e^-x).
[[nodiscard]] inline float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

/// log(1 + e^x), without overflow; x itself above 20, as PyTorch has it.
[[nodiscard]] inline float softplus(float x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}

}  // namespace headscope
