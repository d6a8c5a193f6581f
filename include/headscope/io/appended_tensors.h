#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/shape.h"
#include "headscope/io/gguf.h"

namespace headscope {

/// A float32 tensor to add to a file.
struct AppendedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;  ///< As many as the shape says.
};

/// A copy of a file of weights with tensors added at its end: the tensors' data in between is unchanged and so are the
/// offsets of the tensors.
struct ExtendedFile {
  std::vector<std::byte> header;  ///< Replaces the header of the original.
  std::size_t data = 0;           ///< Where the tensors' data begins in the original; all of it follows the header.
  std::vector<std::byte> tail;    ///< Follows the data.
};

/// Extends a safetensors file, given its bytes as `SafetensorsFile` has checked them. All other text of the header,
/// such as __metadata__, is kept.
///
/// \throws Error  kUnsupported if a name would need escapes in JSON.
[[nodiscard]] ExtendedFile extend_safetensors(std::span<const std::byte> file, std::span<const AppendedTensor> tensors);

/// Extends a GGUF file.
[[nodiscard]] ExtendedFile extend_gguf(const GgufFile& file, std::span<const AppendedTensor> tensors);

}  // namespace headscope
