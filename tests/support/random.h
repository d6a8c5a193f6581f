#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace headscope::test {

/// Standard normal numbers from the given seed.
inline std::vector<float> normals(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

}  // namespace headscope::test
