#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linalg/sum_of_squares.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "linalg/sum_of_squares.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double sum_of_squares_here(const float* HWY_RESTRICT block, std::size_t rows, std::size_t columns, std::size_t stride) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = rows / lanes * lanes;
  double total = 0;
  float tail = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const float* column = block + j * stride;
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < whole; i += lanes) {
      const auto value = hn::LoadU(d, column + i);
      sum = hn::MulAdd(value, value, sum);
    }
    for (std::size_t i = whole; i < rows; ++i) tail += column[i] * column[i];
    // Within a column, float is accurate enough; the sum over columns is in double.
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)) + tail);
    tail = 0;
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(sum_of_squares_here);

double sum_of_squares(const float* block, std::size_t rows, std::size_t columns, std::size_t stride) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_here)(block, rows, columns, stride);
}

}  // namespace headscope
#endif
