#include "forward/relative_scores.h"

#include <algorithm>
#include <cmath>

#include "forward/weights.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// The row of a distance: near ones have their own, far ones share logarithmic buckets.
std::size_t row_of(std::ptrdiff_t distance, const RelativePositions& positions) {
  if (positions.sinusoidal) {  // keys after the query are masked
    const auto back = static_cast<std::size_t>(std::max<std::ptrdiff_t>(distance, 0));
    return positions.longest > 0 ? std::min(back, positions.longest) : back;
  }
  const auto span = static_cast<std::ptrdiff_t>(positions.span);
  std::ptrdiff_t bucket = distance;
  const auto middle = static_cast<std::ptrdiff_t>(positions.buckets / 2);
  const std::ptrdiff_t far = std::abs(distance);
  if (positions.buckets > 0 && positions.longest > 0 && far > middle) {
    // In float, like PyTorch: a distance at the border of two buckets must fall to the same side.
    const auto half = static_cast<float>(middle);
    const float share =
        std::log(static_cast<float>(far) / half) /
        std::log(static_cast<float>(static_cast<double>(positions.longest - 1) / static_cast<double>(middle)));
    const auto steps = static_cast<std::ptrdiff_t>(std::ceil(share * (half - 1))) + middle;
    bucket = distance < 0 ? -steps : steps;
  }
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(bucket + span, 0, 2 * span - 1));
}

// Sines, then cosines, of every distance.
void fill_waves(Matrix& table) {
  const std::size_t half = table.columns() / 2;
  for (std::size_t t = 0; t < table.rows(); ++t) {
    for (std::size_t i = 0; i < half; ++i) {
      // The angle is rounded to float like in PyTorch.
      const auto frequency =
          static_cast<float>(1 / std::pow(10000.0, 2 * static_cast<double>(i) / static_cast<double>(table.columns())));
      const float angle = static_cast<float>(t) * frequency;
      table(t, i) = std::sin(angle);
      table(t, half + i) = std::cos(angle);
    }
  }
}

float dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(sum);
}

}  // namespace

RelativeScores::RelativeScores(const Model& model, const Network& network, const NetworkLayer& layer,
                               std::size_t tokens, Buffer<float>& scratch)
    : d_head_(model.info().sizes.d_head), tokens_(tokens) {
  const RelativePositions& positions = network.relative;
  for (std::size_t i = 0; i + 1 < 2 * tokens; ++i) {
    buckets_.push_back(row_of(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(tokens - 1), positions));
  }
  // Short inputs use few of the rows. Those of sines and cosines begin with the first.
  const std::size_t lowest = std::ranges::min(buckets_);
  const std::size_t rows = std::ranges::max(buckets_) + 1 - lowest;
  for (std::size_t& bucket : buckets_) bucket -= lowest;
  Matrix table(rows, model.info().sizes.d_model);
  if (positions.sinusoidal) {
    fill_waves(table);
  } else {
    const std::vector<float> stored = read_vector(model.checkpoint(), *positions.table);
    const auto first = stored.begin() + static_cast<std::ptrdiff_t>(lowest * table.columns());
    std::copy_n(first, table.values().size(), table.values().begin());
  }
  if (layer.content_bias != nullptr) content_bias_ = read_vector(model.checkpoint(), *layer.content_bias);
  if (layer.position_bias != nullptr) position_bias_ = read_vector(model.checkpoint(), *layer.position_bias);
  if (const auto norm = load_norm(model.checkpoint(), positions.norm)) norm->apply(table.view(), table.span());
  const auto project = [&](const std::optional<StoredLinear>& linear, std::optional<Matrix>& out) {
    if (!linear) return;
    out.emplace(rows, linear->out());
    apply_linear(model.checkpoint(), *linear, table.view(), out->span(), scratch);
  };
  project(layer.relative_key, keys_);
  project(layer.relative_query, queries_);
}

void RelativeScores::add(std::size_t head, MatrixView q, std::size_t first, MatrixView k, std::size_t first_key,
                         float scale, MatrixSpan scores) const {
  const auto part = [&](const Matrix& all) { return all.view().block(0, all.rows(), head * d_head_, d_head_); };
  Matrix by_query(keys_ ? q.rows() : 0, keys_ ? keys_->rows() : 0);
  Matrix by_key(queries_ ? k.rows() : 0, queries_ ? queries_->rows() : 0);
  if (keys_) multiply(q, part(*keys_).transposed(), by_query.span(), scale);
  if (queries_) multiply(k, part(*queries_).transposed(), by_key.span(), scale);
  std::vector<float> of_bucket(position_bias_.empty() ? 0 : keys_->rows());
  std::vector<float> of_key(content_bias_.empty() ? 0 : k.rows());
  const auto own = [&](const std::vector<float>& all) { return std::span(all).subspan(head * d_head_, d_head_); };
  for (std::size_t b = 0; b < of_bucket.size(); ++b) {
    of_bucket[b] = scale * dot(own(position_bias_), keys_->row(b).subspan(head * d_head_, d_head_));
  }
  for (std::size_t j = 0; j < of_key.size(); ++j) {
    of_key[j] = scale * dot(own(content_bias_), {k.data() + j * k.row_stride(), d_head_});
  }
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::span<float> row = scores.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::size_t bucket = buckets_[first + i + tokens_ - 1 - (first_key + j)];
      if (keys_) row[j] += by_query(i, bucket);
      if (queries_) row[j] += by_key(j, bucket);
      if (!of_bucket.empty()) row[j] += of_bucket[bucket];
      if (!of_key.empty()) row[j] += of_key[j];
    }
  }
}

}  // namespace headscope
