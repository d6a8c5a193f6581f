#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/io/checkpoint.h"

namespace headscope {

/// A convolution over the last tokens, channel by channel. Its taps are in the order of time, the last for the token
/// itself.
class CausalKernel {
 public:
  /// `kernel` is [channels, 1, taps]; `bias` may be nullptr.
  CausalKernel(const Checkpoint& checkpoint, const StoredTensor& kernel, const StoredTensor* bias);

  /// out = the sums for token t, of as many channels as x has columns.
  void apply(const Matrix& x, std::size_t t, std::span<float> out) const;

 private:
  std::vector<float> taps_;
  std::vector<float> bias_;  // empty for none
};

}  // namespace headscope
