#include "headscope/forward/write_means.h"

#include "forward/weights.h"

namespace headscope {

std::vector<float> write_means(const Model& model, const NetworkLayer& layer) {
  Buffer<float> decoded;
  const StoredLinear& out = layer.linear[static_cast<std::size_t>(Role::kO)];
  const MatrixView writes = linear_weights(model.checkpoint(), out, decoded);
  std::vector<float> means(writes.rows());
  for (std::size_t i = 0; i < writes.rows(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < writes.columns(); ++j) sum += static_cast<double>(writes(i, j));
    means[i] = static_cast<float>(sum / static_cast<double>(writes.columns()));
  }
  return means;
}

}  // namespace headscope
