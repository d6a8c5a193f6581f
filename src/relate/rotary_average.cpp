#include "headscope/relate/rotary_average.h"

#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/linalg/gram.h"

namespace headscope {

void average_rotations(std::span<double> gram, std::size_t h, const Rotary& rotary) {
  assert(gram.size() == h * h && rotary.first + rotary.width <= h && rotary.width % 2 == 0);
  const std::size_t pairs = rotary.width / 2;
  const std::size_t turning = rotary.turning > 0 ? rotary.turning : pairs;
  const std::size_t end = rotary.first + rotary.width;
  std::vector<double> diagonal(end);
  const double amplitude = std::pow(rotary.amplitude, 4);
  for (std::size_t k = 0; k < turning; ++k) {
    const std::size_t i = rotary.first + (rotary.interleaved ? 2 * k : k);
    const std::size_t j = rotary.first + (rotary.interleaved ? 2 * k + 1 : k + pairs);
    diagonal[i] = diagonal[j] = amplitude * (gram[i * (h + 1)] + gram[j * (h + 1)]) / 2;
  }
  for (std::size_t j = 0; j < h; ++j) {
    const auto turns = [&](std::size_t component) {
      if (component < rotary.first || component >= end) return false;
      const std::size_t place = component - rotary.first;
      return (rotary.interleaved ? place / 2 : place % pairs) < turning;
    };
    for (std::size_t i = 0; i <= j; ++i) {
      if (turns(i) || turns(j)) gram[i + j * h] = i == j ? diagonal[i] : 0;
    }
  }
}

void multiply_by_rotary_root(std::span<const float> a, std::span<const float> b, std::size_t d, std::size_t h,
                             const Rotary& rotary, std::span<float> out) {
  std::vector<double> gram = gram_matrix(b, d, h);
  average_rotations(gram, h, rotary);
  multiply_by_root(a, std::move(gram), d, h, out);
}

}  // namespace headscope
