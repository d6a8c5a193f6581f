#include "forward/weights.h"

#include <algorithm>
#include <cmath>

#include "forward/parallel_rows.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {

MatrixView linear_weights(const Checkpoint& checkpoint, const StoredLinear& linear, Buffer<float>& scratch) {
  const std::span<const float> weights = read_weights(checkpoint, *linear.weight, scratch);
  const std::size_t in = linear.in();
  const std::size_t out = linear.out();
  return linear.storage == Storage::kInOut ? MatrixView(weights.data(), in, out, out)
                                           : MatrixView(weights.data(), out, in, in).transposed();
}

void apply_linear(const Checkpoint& checkpoint, const StoredLinear& linear, MatrixView x, MatrixSpan y,
                  Buffer<float>& scratch) {
  const MatrixView matrix = linear_weights(checkpoint, linear, scratch);
  if (linear.bias == nullptr) {
    parallel_multiply(x, matrix, y);
    return;
  }
  const std::vector<float> bias = read_vector(checkpoint, *linear.bias);
  parallel_for_rows(y.rows(), [&](std::size_t i) { std::ranges::copy(bias, y.row(i).begin()); });
  parallel_multiply(x, matrix, y, 1, 1);
}

Matrix mapped(const Checkpoint& checkpoint, const StoredLinear& linear, MatrixView x, Buffer<float>& scratch) {
  Matrix result(x.rows(), linear.out());
  apply_linear(checkpoint, linear, x, result.span(), scratch);
  return result;
}

Norm::Norm(const Checkpoint& checkpoint, const StoredNorm& stored)
    : kind_(stored.kind), epsilon_(static_cast<float>(stored.epsilon)) {
  if (stored.gain != nullptr) gain_ = read_vector(checkpoint, *stored.gain);
  for (const StoredTensor* other : stored.other_gains) {
    const std::vector<float> more = read_vector(checkpoint, *other);
    gain_.insert(gain_.end(), more.begin(), more.end());
  }
  for (float& gain : gain_) gain += stored.offset;
  if (stored.bias != nullptr) bias_ = read_vector(checkpoint, *stored.bias);
}

void Norm::apply_row(std::span<const float> x, std::span<float> out) const {
  apply_with(gain_, x, out);
}

void Norm::apply_head(std::size_t head, std::span<float> x) const {
  const bool own = gain_.size() > x.size();
  apply_with(std::span(gain_).subspan(own ? head * x.size() : 0, std::min(gain_.size(), x.size())), x, x);
}

void Norm::apply_gain(std::size_t head, std::span<float> x) const {
  if (gain_.empty()) return;
  for (std::size_t j = 0; j < x.size(); ++j) x[j] *= gain_[head * x.size() + j];
}

void Norm::apply_with(std::span<const float> gain, std::span<const float> x, std::span<float> out) const {
  thread_local std::vector<float> ones;
  if (gain.empty()) {
    ones.resize(std::max(ones.size(), x.size()), 1.0F);
    gain = std::span(ones).first(x.size());
  }
  if (kind_ == NormKind::kLayerNorm) {
    layer_norm(x, gain, bias_, epsilon_, out);
  } else {
    rms_norm(x, gain, epsilon_, out);
  }
}

float Norm::factor(std::span<const float> x) const {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  if (kind_ == NormKind::kLayerNorm) {
    for (const float value : x) mean += static_cast<double>(value) / count;
  }
  double squares = 0;
  for (const float value : x) squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(epsilon_)));
}

void Norm::apply(MatrixView x, MatrixSpan out) const {
  parallel_for_rows(x.rows(), [&](std::size_t i) {
    apply_row({x.data() + i * x.row_stride(), x.columns()}, out.row(i));
  });
}

std::optional<Norm> load_norm(const Checkpoint& checkpoint, const std::optional<StoredNorm>& stored) {
  if (!stored) return std::nullopt;
  return Norm(checkpoint, *stored);
}

}  // namespace headscope
