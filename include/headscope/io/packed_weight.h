#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace headscope {

struct StoredTensor;

/// How a weight is computed that a file holds as codes in one tensor and scales, zero points or tables in others.
struct PackedWeight {
  /// The tensors in the file.
  std::vector<const StoredTensor*> parts = {};
  /// Decodes elements [first, first + values.size()) of a row; a tensor of more than two axes is a matrix of all its
  /// rows. `spacings` is empty or receives, for each element, the step between neighboring codes: what
  /// `find_spacings` gives for other types. May be called from several threads.
  /// \throws Error  kFormat if an index in the file is out of range.
  std::function<void(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings)> read = {};
};

}  // namespace headscope
