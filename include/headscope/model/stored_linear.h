#pragma once

#include <cstddef>

#include "headscope/io/stored_tensor.h"
#include "headscope/model/storage.h"

namespace headscope {

/// y = x W^T + b, with the tensors as stored in the file.
struct StoredLinear {
  const StoredTensor* weight = nullptr;
  const StoredTensor* bias = nullptr;  ///< nullptr if there is none.
  Storage storage = Storage::kOutIn;

  [[nodiscard]] std::size_t in() const { return weight->shape[storage == Storage::kOutIn ? 1 : 0]; }
  [[nodiscard]] std::size_t out() const { return weight->shape[storage == Storage::kOutIn ? 0 : 1]; }
};

}  // namespace headscope
