#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// The tensor of an FP8 weight's factors (`weight_scale_inv`), one for every block of, usually, 128 x 128;
/// nullptr if the weight is of another type or has none.
///
/// \throws Error  kFormat if its shape makes no sense, kUnsupported if it cannot be decoded.
[[nodiscard]] const StoredTensor* find_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight);

/// Name of the tensor of factors without which this weight is mere codes; empty if all is well.
[[nodiscard]] std::string missing_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight);

/// Those factors: w = stored * factor.
class BlockScale {
 public:
  /// \throws Error  kFormat if the factors do not fit the blocks the configuration names.
  BlockScale(const Checkpoint& checkpoint, const StoredTensor& weight, const StoredTensor* scale);

  /// Multiplies part of one row of the weight.
  void apply(std::size_t row, std::size_t first_column, std::span<float> values) const;

 private:
  std::vector<float> values_;
  Shape block_ = {128, 128};
  std::size_t columns_ = 0;
};

}  // namespace headscope
