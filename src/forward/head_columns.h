#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/model/head_map.h"

namespace headscope {

/// Queries, keys or values of a layer: the components of head a at token t start at
/// data + t * row_stride + slice.first_of(a).
struct HeadColumns {
  float* data = nullptr;
  std::size_t row_stride = 0;
  HeadSlice slice = {};

  [[nodiscard]] float* at(std::size_t token, std::size_t head) const {
    return data + token * row_stride + slice.first_of(head);
  }
};

/// Queries, keys and values of a layer, and the matrices that hold them.
struct LayerHeads {
  std::vector<Matrix> held = {};
  std::array<HeadColumns, 3> columns = {};  ///< Q, K and V.
};

}  // namespace headscope
