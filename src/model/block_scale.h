#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Returns the tensor of an FP8 weight's factors (`weight_scale_inv`), one per block of, usually, 128 x 128; nullptr if
/// the weight has another type or no such tensor.
///
/// \throws Error  kFormat if its shape is invalid, kUnsupported if it cannot be decoded.
[[nodiscard]] const StoredTensor* find_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight);

/// Returns the name of the missing tensor of factors without which this weight cannot be decoded; empty if none is
/// missing.
[[nodiscard]] std::string missing_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight);

/// Block factors of an FP8 weight: w = stored * factor.
class BlockScale {
 public:
  /// \throws Error  kFormat if the factors do not match the block size in the configuration.
  BlockScale(const Checkpoint& checkpoint, const StoredTensor& weight, const StoredTensor* scale);

  /// Multiplies part of one row of the weight by its factors, in place.
  void apply(std::size_t row, std::size_t first_column, std::span<float> values) const;

 private:
  std::vector<float> values_;
  Shape block_ = {128, 128};
  std::size_t columns_ = 0;
};

}  // namespace headscope
