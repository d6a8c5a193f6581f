#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headscope/base/shape.h"
#include "headscope/io/dtype.h"

namespace headscope {

/// A tensor as it lies in a file: its name, how to read it, and its bytes.
///
/// The bytes belong to the file that was opened; they are little-endian and not
/// necessarily aligned. The reader that made this checked that `bytes` lies
/// inside the file and holds exactly the elements of `shape`.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  ///< Outermost extent first, whatever the file's convention.
  std::span<const std::byte> bytes;
};

}  // namespace headscope
