#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tree/point_distances.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cassert>

#include "tree/point_distances.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Distances to as many points as a vector of D has lanes.
template <typename D>
HWY_INLINE void distances_of_some(D d, const DoubleMatrix& points, std::size_t i, std::size_t begin, double* out) {
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < points.rows(); ++k) {
    const double* row = points.row(k).data();
    const auto difference = hn::Sub(hn::LoadU(d, row + begin), hn::Set(d, row[i]));
    sum = hn::MulAdd(difference, difference, sum);
  }
  hn::StoreU(hn::Sqrt(sum), d, out);
}

void point_distances_here(const DoubleMatrix& points, std::size_t i, std::size_t begin, std::span<double> out) {
  const hn::ScalableTag<double> many;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(many) <= out.size(); j += hn::Lanes(many)) {
    distances_of_some(many, points, i, begin + j, out.data() + j);
  }
  for (; j < out.size(); ++j) distances_of_some(one, points, i, begin + j, out.data() + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(point_distances_here);

void point_distances(const DoubleMatrix& points, std::size_t i, std::size_t begin, std::span<double> out) {
  assert(begin + out.size() <= points.columns());
  HWY_DYNAMIC_DISPATCH(point_distances_here)(points, i, begin, out);
}

}  // namespace headscope
#endif
