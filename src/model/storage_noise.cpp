// The loops below are compiled once per SIMD target, and the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/storage_noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "model/storage_noise.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

// Sixteen partial sums on every target, so that all give the same bits.
constexpr std::size_t kSums = 16;

// Adds the squares of spacings times factors to `crossing`, element by element, and returns their sum.
template <typename Factor>
HWY_INLINE double add_squares(const float* HWY_RESTRICT spacings, const Factor& factor, std::size_t size,
                              double* HWY_RESTRICT crossing) {
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) {
      const double error = static_cast<double>(spacings[i + k] * factor(i + k));
      const double square = error * error;
      crossing[i + k] += square;
      sums[k] += square;
    }
  }
  for (; i < size; ++i) {
    const double error = static_cast<double>(spacings[i] * factor(i));
    crossing[i] += error * error;
    sums[0] += error * error;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double add_column_here(const float* spacings, const float* factors, std::size_t size, double* rows) {
  return add_squares(
      spacings, [=](std::size_t i) { return factors[i]; }, size, rows);
}

double add_row_here(const float* spacings, float factor, std::size_t size, double* columns) {
  return add_squares(
      spacings, [=](std::size_t) { return factor; }, size, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(add_column_here);
HWY_EXPORT(add_row_here);

StorageNoise::StorageNoise(std::size_t heads, std::size_t d_model, std::size_t d_head, std::size_t parts,
                           std::span<const float> factors)
    : heads_(heads),
      d_model_(d_model),
      d_head_(d_head),
      factors_(factors.begin(), factors.end()),
      rows_(heads * d_model),
      columns_(parts * heads * d_head) {
  factors_.resize(d_model, 1.0F);
}

void StorageNoise::add_column(std::size_t head, std::size_t j, std::span<const float> spacings) {
  assert(spacings.size() == d_model_);
  columns_[head * d_head_ + j] +=
      HWY_DYNAMIC_DISPATCH(add_column_here)(spacings.data(), factors_.data(), d_model_, rows_.data() + head * d_model_);
}

void StorageNoise::add_row(std::size_t part, std::size_t i, std::size_t head, std::size_t first,
                           std::span<const float> spacings) {
  assert(first + spacings.size() <= d_head_);
  rows_[head * d_model_ + i] += HWY_DYNAMIC_DISPATCH(add_row_here)(
      spacings.data(), factors_[i], spacings.size(), columns_.data() + (part * heads_ + head) * d_head_ + first);
}

std::vector<double> StorageNoise::bounds(DType stored) const {
  const DTypeInfo& type = info(stored);
  const double c = type.block_bytes < 2 * type.block_elements ? 1.5 : 1.1;
  std::vector<double> columns(heads_ * d_head_);
  for (std::size_t k = 0; k < columns_.size(); ++k) columns[k % columns.size()] += columns_[k];
  std::vector<double> bounds(heads_);
  for (std::size_t head = 0; head < heads_; ++head) {
    const double row = std::ranges::max(std::span(rows_).subspan(head * d_model_, d_model_));
    const double column = std::ranges::max(std::span(columns).subspan(head * d_head_, d_head_));
    bounds[head] = c * (std::sqrt(row) + std::sqrt(column)) / std::sqrt(12.0);
  }
  return bounds;
}

}  // namespace headscope
#endif
