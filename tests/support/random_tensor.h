#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headscope/organize/network_tensor.h"
#include "support/random.h"

namespace headscope::test {

/// Random maps with a mask per head (kZeros: a fifth of the entries, different ones in every head), a shared one, or
/// none.
inline NetworkTensor random_tensor(std::array<std::size_t, 3> shape, MapKind kind, MaskChoice::Kind mask,
                                   std::uint64_t seed) {
  std::vector<float> values = normals(shape[0] * shape[1] * shape[2], seed);
  if (mask == MaskChoice::Kind::kZeros) {
    const std::vector<float> other = normals(values.size(), seed + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(other[i]) > 1.28F) values[i] = 0;
    }
  }
  NetworkTensorOptions options;
  options.kind = kind;
  options.mask.kind = mask;
  if (mask == MaskChoice::Kind::kCausal) options.mask.first_query = shape[2] - std::min(shape[1], shape[2]);
  return make_network_tensor(values, shape, options, "random");
}

}  // namespace headscope::test
