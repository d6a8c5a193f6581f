#include "headscope/organize/cosine_affinity.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "headscope/base/fixed_point.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/product_sum.h"

namespace headscope {
namespace {

// Consecutive maps, each as a matrix with slices as rows; transposed for keys.
struct Maps {
  std::size_t count;
  std::size_t queries;
  std::size_t keys;
  bool transposed;
  const float* values;

  [[nodiscard]] MatrixView operator()(std::size_t map) const noexcept {
    const MatrixView view(values + map * queries * keys, queries, keys, keys);
    return transposed ? view.transposed() : view;
  }
};

Maps maps_of(const NetworkTensor& own, TensorAxis axis, std::size_t count, const float* values) {
  return {count, own.queries(), own.keys(), axis == TensorAxis::kKey, values};
}

// The largest magnitude of each query and of each key over all heads.
struct Largest {
  std::vector<float> query;
  std::vector<float> key;

  [[nodiscard]] const std::vector<float>& axis(TensorAxis axis) const noexcept {
    return axis == TensorAxis::kQuery ? query : key;
  }
};
Largest largest_entries(const TensorShare& share) {
  const NetworkTensor& own = share.own();
  std::vector<float> both(own.queries() + own.keys(), 0.0F);
  // First the maximum over heads, for each entry.
  std::vector<float> entries(own.map_size(), 0.0F);
  parallel_for(own.queries(), [&](std::size_t q) {
    float* largest = entries.data() + q * own.keys();
    for (std::size_t h = 0; h < own.heads(); ++h) {
      const float* values = own.map(h).data() + q * own.keys();
      for (std::size_t k = 0; k < own.keys(); ++k) largest[k] = std::max(largest[k], std::abs(values[k]));
    }
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (float* of : {&both[i / own.keys()], &both[own.queries() + i % own.keys()]}) *of = std::max(*of, entries[i]);
  }
  both = share.ranks().all_reduce_max(std::move(both));
  const auto keys_begin = both.begin() + static_cast<std::ptrdiff_t>(own.queries());
  return {{both.begin(), keys_begin}, {keys_begin, both.end()}};
}

// The sum over all heads of the squares of each entry; exact, so the order of heads does not matter.
std::vector<float> summed_squares(const TensorShare& share, const Largest& largest) {
  const NetworkTensor& own = share.own();
  std::vector<std::int64_t> sums(own.map_size(), 0);
  std::vector<float> result(sums.size());
  const auto unit = [&](std::size_t q, std::size_t k) {
    const auto bound = static_cast<double>(std::min(largest.query[q], largest.key[k]));
    return FixedPoint(bound * bound * static_cast<double>(share.heads()));
  };
  parallel_for(own.queries(), [&](std::size_t q) {
    for (std::size_t k = 0; k < own.keys(); ++k) {
      const double scale = unit(q, k).scale();
      std::int64_t& sum = sums[q * own.keys() + k];
      for (std::size_t h = 0; h < own.heads(); ++h) {
        const auto x = static_cast<double>(own.map(h)[q * own.keys() + k]);
        sum += static_cast<std::int64_t>(std::nearbyint(x * x * scale));
      }
    }
  });
  share.ranks().all_reduce_sum(sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result[i] = static_cast<float>(unit(i / own.keys(), i % own.keys()).value(sums[i]));
  }
  return result;
}

// N(s, t) = sum of x_s^2 over the entries present in t.
DoubleMatrix common_norms(const TensorShare& share, const Largest& largest, TensorAxis axis) {
  const NetworkTensor& own = share.own();
  const std::vector<float>& bounds = largest.axis(axis);
  const std::size_t columns = axis == TensorAxis::kQuery ? own.keys() : own.queries();
  std::vector<float> bound_squares;
  for (const float bound : bounds) bound_squares.push_back(bound * bound);
  const std::vector<float> ones(bounds.size(), 1.0F);
  if (!own.mask_per_head) {
    // All heads share the mask, so their squares can be added first.
    const std::vector<float> squares = summed_squares(share, largest);
    const std::vector<float> present(own.present.begin(), own.present.end());
    ProductSum sum(bound_squares, ones, share.heads() * columns);
    sum.add(1, maps_of(own, axis, 1, squares.data()), maps_of(own, axis, 1, present.data()), false);
    return sum.values(false);
  }
  std::vector<float> squares(own.values.size());
  std::vector<float> present(own.values.size());
  for (std::size_t i = 0; i < squares.size(); ++i) {
    squares[i] = own.values.data()[i] * own.values.data()[i];
    present[i] = own.present[i] != 0 ? 1.0F : 0.0F;
  }
  ProductSum sum(bound_squares, ones, share.heads() * columns);
  sum.add(own.heads(), maps_of(own, axis, own.heads(), squares.data()), maps_of(own, axis, own.heads(), present.data()),
          false);
  share.ranks().all_reduce_sum(sum.totals());
  return sum.values(false);
}

}  // namespace

DoubleMatrix cosine_affinity(const TensorShare& share, TensorAxis axis) {
  assert(axis != TensorAxis::kHead);
  const NetworkTensor& own = share.own();
  const Largest largest = largest_entries(share);
  const std::size_t columns = axis == TensorAxis::kQuery ? own.keys() : own.queries();
  ProductSum products(largest.axis(axis), largest.axis(axis), share.heads() * columns);
  const Maps maps = maps_of(own, axis, own.heads(), own.values.data());
  products.add(own.heads(), maps, maps, true);
  share.ranks().all_reduce_sum(products.totals());
  DoubleMatrix result = products.values(true);

  const std::size_t n = result.rows();
  const bool masked = own.masked();
  const DoubleMatrix norms = masked ? common_norms(share, largest, axis) : DoubleMatrix();
  std::vector<double> squares(n);
  for (std::size_t s = 0; s < n; ++s) squares[s] = result(s, s);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t t = s; t < n; ++t) {
      const double mine = masked ? norms(s, t) : squares[s];
      const double other = masked ? norms(t, s) : squares[t];
      const double norm = std::sqrt(std::max(mine, 0.0)) * std::sqrt(std::max(other, 0.0));
      const double cosine = norm > 0 ? std::clamp(result(s, t) / norm, 0.0, 1.0) : 0;
      result(s, t) = result(t, s) = s == t ? 1 : cosine;
    }
  }
  return result;
}

}  // namespace headscope
