#include "relate/token_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "headscope/base/error.h"
#include "headscope/base/matrix.h"
#include "headscope/base/parallel.h"
#include "headscope/io/decode.h"

namespace headscope {
namespace {

// Rows per iteration of a parallel loop. Fixed, because it determines the order in which the mean is summed.
constexpr std::size_t kStripRows = 512;

// A row this close to the mean, relative to the typical length of a row, is the mean: a different float of that size
// differs by at least 2^-24, while the sum over the vocabulary has errors of 2^-53 per addition.
constexpr double kEqualsMean = 1e-10;

std::size_t divide_up(std::size_t count, std::size_t size) {
  return (count + size - 1) / size;
}

const StoredTensor& find(const Model& model, TokenMatrix matrix) {
  const ModelInfo& info = model.info();
  const bool embedding = matrix == TokenMatrix::kEmbedding;
  const StoredTensor* tensor = model.checkpoint().find(embedding ? info.embedding : info.unembedding);
  if (tensor == nullptr) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has no {} to profile tokens with{}", model.checkpoint().path().string(),
                            embedding ? "embedding" : "unembedding",
                            !embedding && !info.embedding.empty() ? "; use its embedding instead" : ""));
  }
  const std::string file = model.checkpoint().file_of(*tensor).string();
  if (tensor->shape.size() != 2 || tensor->shape[1] != info.sizes.d_model) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: tensor '{}' is {}, but token profiles need rows as wide as the residual stream, {}",
                            file, printable(tensor->name), to_string(tensor->shape), info.sizes.d_model));
  }
  if (model.checkpoint().find(tensor->name + "_scale_inv") != nullptr) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: tensor '{}' has a scale per block, which token "
                                                     "profiles do not support; expected plain weights",
                                                     file, printable(tensor->name)));
  }
  return *tensor;
}

}  // namespace

TokenRows::TokenRows(const Model& model, const TokenProfileOptions& options)
    : checkpoint_(model.checkpoint()), tensor_(find(model, options.matrix)), d_(tensor_.shape[1]) {
  count_ = tensor_.shape[0];
  if (options.vocabulary_size != 0) count_ = std::min(count_, options.vocabulary_size);
  find_mean();
}

void TokenRows::read_centered(std::size_t first, std::size_t count, float* out) const {
  parallel_for(divide_up(count, kStripRows), [&](std::size_t strip) {
    const std::size_t end = std::min(count, (strip + 1) * kStripRows);
    for (std::size_t i = strip * kStripRows; i < end; ++i) {
      const std::span<float> row(out + i * d_, d_);
      decode_row(first + i, row);
      center(row);
    }
  });
}

void TokenRows::decode_row(std::size_t token, std::span<float> row) const {
  decode_part(tensor_, token * d_, row);
}

// Sums each strip separately, then the strips in order: the same for any number of threads.
void TokenRows::find_mean() {
  const std::size_t strips = divide_up(count_, kStripRows);
  DoubleMatrix sums(strips, d_);
  std::vector<double> squares(strips);
  std::vector<std::optional<std::size_t>> non_finite(strips);
  parallel_for(strips, [&](std::size_t strip) {
    std::vector<float> row(d_);
    const std::span<double> sum = sums.row(strip);
    double square = 0;
    const std::size_t end = std::min(count_, (strip + 1) * kStripRows);
    for (std::size_t token = strip * kStripRows; token < end; ++token) {
      decode_row(token, row);
      if (const auto found = find_non_finite(row); found && !non_finite[strip]) {
        non_finite[strip] = token * d_ + *found;
      }
      for (std::size_t j = 0; j < d_; ++j) {
        const double value = static_cast<double>(row[j]);
        sum[j] += value;
        square += value * value;
      }
    }
    squares[strip] = square;
  });
  mean_.assign(d_, 0);
  for (std::size_t strip = 0; strip < strips; ++strip) {
    if (non_finite[strip]) reject_non_finite(*non_finite[strip]);
    for (std::size_t j = 0; j < d_; ++j) mean_[j] += sums(strip, j);
  }
  for (double& value : mean_) value /= static_cast<double>(count_);
  const double square = std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(count_);
  least_square_ = kEqualsMean * kEqualsMean * square;
}

void TokenRows::reject_non_finite(std::size_t index) const {
  throw Error(ErrorKind::kNumeric,
              fmt::format("{}: tensor '{}' holds NaN or Inf at index [{}, {}], expected finite weights",
                          checkpoint_.file_of(tensor_).string(), printable(tensor_.name), index / d_, index % d_));
}

void TokenRows::center(std::span<float> row) const {
  double square = 0;
  for (std::size_t j = 0; j < d_; ++j) {
    const double difference = static_cast<double>(row[j]) - mean_[j];
    square += difference * difference;
  }
  const double factor = square <= least_square_ ? 0 : 1 / std::sqrt(square);
  for (std::size_t j = 0; j < d_; ++j) {
    row[j] = static_cast<float>((static_cast<double>(row[j]) - mean_[j]) * factor);
  }
}

}  // namespace headscope
