#pragma once

#include <cmath>

namespace headscope {

[[nodiscard]] inline float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

[[nodiscard]] inline float softplus(float x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}

}  // namespace headscope
