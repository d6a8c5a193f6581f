#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headscope/base/shape.h"
#include "headscope/io/dtype.h"

namespace headscope {

/// A tensor as stored in a file: its name, its encoding and its bytes.
///
/// The bytes belong to the open file; they are little-endian and not necessarily aligned. The reader that created this
/// object has checked that `bytes` lies inside the file and contains exactly the elements of `shape`.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  ///< Outermost extent first, regardless of the file's convention.
  std::span<const std::byte> bytes;
};

}  // namespace headscope
