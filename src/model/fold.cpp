// The loops below are compiled once per SIMD target, and the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/fold.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>

#include "headscope/base/parallel.h"
#include "model/fold.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

// Sixteen partial sums on every target, so that all give the same bits.
constexpr std::size_t kSums = 16;

void scale_here(float* HWY_RESTRICT column, const float* HWY_RESTRICT factors, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) column[i] *= factors[i];
}

void remove_mean_here(float* HWY_RESTRICT column, std::size_t size) {
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(column[i + k]);
  }
  for (; i < size; ++i) sums[0] += static_cast<double>(column[i]);
  double total = 0;
  for (const double sum : sums) total += sum;
  const auto mean = static_cast<float>(total / static_cast<double>(size));
  for (i = 0; i < size; ++i) column[i] -= mean;
}

void fold_here(float* column, const float* factors, std::size_t size, bool remove_mean) {
  if (factors != nullptr) scale_here(column, factors, size);
  if (remove_mean) remove_mean_here(column, size);
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {
HWY_EXPORT(fold_here);

void fold(HeadWeights& weights, const Fold& fold) {
  const float* factors = fold.factors.empty() ? nullptr : fold.factors.data();
  if (factors == nullptr && !fold.remove_mean) return;
  parallel_for(weights.heads(), [&](std::size_t head) {
    for (std::size_t j = 0; j < weights.d_head(); ++j) {
      const std::span<float> column = weights.column(head, j);
      HWY_DYNAMIC_DISPATCH(fold_here)(column.data(), factors, column.size(), fold.remove_mean);
    }
  });
}

}  // namespace headscope
#endif
