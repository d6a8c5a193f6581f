#include "headscope/organize/cosine_affinity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headscope/linalg/product_sum.h"

namespace headscope {
namespace {

// The tensor as a sum over batches of matrices with the slices as rows: a head's map (turned, for keys), or for heads
// all maps as one matrix.
struct Unfolding {
  std::size_t batches;
  std::size_t batch_size;
  MatrixView first;

  Unfolding(const NetworkTensor& tensor, TensorAxis axis, const float* values)
      : batches(axis == TensorAxis::kHead ? 1 : tensor.heads()),
        batch_size(tensor.map_size()),
        first(axis == TensorAxis::kHead ? MatrixView(values, tensor.heads(), tensor.map_size(), tensor.map_size())
              : axis == TensorAxis::kQuery
                  ? MatrixView(values, tensor.queries(), tensor.keys(), tensor.keys())
                  : MatrixView(values, tensor.queries(), tensor.keys(), tensor.keys()).transposed()) {}

  [[nodiscard]] MatrixView batch(std::size_t b) const noexcept {
    return {first.data() + b * batch_size, first.rows(), first.columns(), first.row_stride(), first.column_stride()};
  }
};

DoubleMatrix sum_products(const Unfolding& a, const Unfolding& b, bool symmetric) {
  return product_sum(
      a.batches, [&](std::size_t i) { return a.batch(i); }, [&](std::size_t i) { return b.batch(i); }, symmetric);
}

// N(s, t) = sum of x_s^2 over the entries that t has.
DoubleMatrix common_norms(const NetworkTensor& tensor, TensorAxis axis) {
  const auto values = tensor.values.values();
  if (!tensor.shared_mask() || axis == TensorAxis::kHead) {
    std::vector<float> squares(values.size());
    std::vector<float> present(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      squares[i] = values[i] * values[i];
      present[i] = tensor.present[i % tensor.present.size()] != 0 ? 1.0F : 0.0F;
    }
    return sum_products({tensor, axis, squares.data()}, {tensor, axis, present.data()}, false);
  }
  // All heads have the same mask: their squares can be added first.
  std::vector<double> sums(tensor.map_size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i % sums.size()] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  const std::vector<float> squares(sums.begin(), sums.end());
  const std::vector<float> present(tensor.present.begin(), tensor.present.end());
  Unfolding a(tensor, axis, squares.data());
  Unfolding b(tensor, axis, present.data());
  a.batches = b.batches = 1;
  return sum_products(a, b, false);
}

}  // namespace

DoubleMatrix cosine_affinity(const NetworkTensor& tensor, TensorAxis axis) {
  const Unfolding unfolded(tensor, axis, tensor.values.data());
  DoubleMatrix result = sum_products(unfolded, unfolded, true);
  const std::size_t n = result.rows();
  const bool masked = !tensor.present.empty();
  const DoubleMatrix norms = masked ? common_norms(tensor, axis) : DoubleMatrix();
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
