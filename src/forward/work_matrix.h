#pragma once

#include <cstddef>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"

namespace headscope {

/// Memory of a matrix that is computed again and again. It is allocated once and not filled with zeros, which takes as
/// long as some of the products that are written to it.
class WorkMatrix {
 public:
  /// A matrix of this size, with elements of unknown value. Invalidates those returned before.
  [[nodiscard]] MatrixSpan sized(std::size_t rows, std::size_t columns) {
    if (memory_.size() < rows * columns) memory_ = Buffer<float>(rows * columns);
    return {memory_.data(), rows, columns, columns};
  }

 private:
  Buffer<float> memory_;
};

}  // namespace headscope
