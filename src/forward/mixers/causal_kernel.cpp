#include "forward/mixers/causal_kernel.h"

#include <algorithm>

#include "forward/weights.h"
#include "headscope/model/read_weights.h"

namespace headscope {

CausalKernel::CausalKernel(const Checkpoint& checkpoint, const StoredTensor& kernel, const StoredTensor* bias)
    : taps_(read_vector(checkpoint, kernel)) {
  if (bias != nullptr) bias_ = read_vector(checkpoint, *bias);
}

void CausalKernel::apply(const Matrix& x, std::size_t t, std::span<float> out) const {
  const std::size_t taps = taps_.size() / x.columns();
  for (std::size_t c = 0; c < out.size(); ++c) {
    float sum = 0;
    for (std::size_t k = 0; k < std::min(taps, t + 1); ++k) sum += taps_[(c + 1) * taps - 1 - k] * x(t - k, c);
    out[c] = bias_.empty() ? sum : sum + bias_[c];
  }
}

}  // namespace headscope
