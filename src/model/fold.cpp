#include "model/fold.h"

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

template <typename Function>
void for_each_column(HeadWeights& weights, const Function& function) {
  parallel_for(weights.heads(), [&](std::size_t head) {
    for (std::size_t j = 0; j < weights.d_head(); ++j) function(weights.column(head, j));
  });
}

}  // namespace

void scale_channels(HeadWeights& weights, std::span<const float> factors) {
  for_each_column(weights, [&](std::span<float> column) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] *= factors[i];
  });
}

void remove_mean(HeadWeights& weights) {
  for_each_column(weights, [](std::span<float> column) {
    // Four sums, so that one addition need not wait for the last.
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= column.size(); i += 4) {
      for (std::size_t k = 0; k < 4; ++k) sums[k] += static_cast<double>(column[i + k]);
    }
    for (; i < column.size(); ++i) sums[0] += static_cast<double>(column[i]);
    const double mean = (sums[0] + sums[1] + sums[2] + sums[3]) / static_cast<double>(column.size());
    for (float& value : column) value = static_cast<float>(static_cast<double>(value) - mean);
  });
}

}  // namespace headscope
