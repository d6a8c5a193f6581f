#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "headscope/base/shape.h"
#include "headscope/io/dtype.h"
#include "headscope/io/packed_weight.h"

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
  /// Set if the tensor is made of others; then `bytes` is empty, and `dtype` only says how it is stored.
  std::shared_ptr<const PackedWeight> packed = {};
};

/// Returns whether `decode_part` supports the tensor.
[[nodiscard]] bool is_decodable(const StoredTensor& tensor) noexcept;
/// Returns whether `decode_part` gives spacings: decodable types of less than 32 bits per element.
[[nodiscard]] bool has_spacings(const StoredTensor& tensor) noexcept;
/// Returns the number of bytes of a tensor in its files, parts included.
[[nodiscard]] std::size_t bytes_of(const StoredTensor& tensor) noexcept;
/// Returns the number of elements that are decoded together: `first` and the number of values of `decode_part` are
/// multiples of it.
[[nodiscard]] std::size_t block_of(const StoredTensor& tensor) noexcept;

/// Decodes out.size() elements of a tensor, in row-major order, starting at element `first`. `spacings` is empty or
/// receives what `find_spacings` gives.
/// \throws Error  as `decode`, `find_spacings` and `PackedWeight::read`; kInvalidArgument if the elements do not exist.
void decode_part(const StoredTensor& tensor, std::size_t first, std::span<float> out, std::span<float> spacings = {});

}  // namespace headscope
