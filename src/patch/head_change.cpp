#include "headscope/patch/head_change.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::vector<float> gain_of(const Model& model, const std::optional<StoredNorm>& norm) {
  if (!norm || norm->gain == nullptr) return {};
  std::vector<float> gain = read_vector(model.checkpoint(), *norm->gain);
  for (float& one : gain) one += norm->offset;
  return gain;
}

bool centers(const std::optional<StoredNorm>& norm) {
  return norm && norm->kind == NormKind::kLayerNorm;
}

}  // namespace

void center_columns(Matrix& matrix) {
  std::vector<double> means(matrix.columns());
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) means[j] += static_cast<double>(matrix(i, j));
  }
  for (double& mean : means) mean /= static_cast<double>(matrix.rows());
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) matrix(i, j) -= static_cast<float>(means[j]);
  }
}

HeadChange::HeadChange(const RecordedPass& record, Replacement replacement, const RecordedPass* paired)
    : record_(record), replacement_(replacement), paired_(paired) {
  if (replacement == Replacement::kPair) {
    if (paired == nullptr || paired->inputs().size() != record.inputs().size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} inputs and {} paired ones, expected one for each", record.inputs().size(),
                              paired == nullptr ? 0 : paired->inputs().size()));
    }
    for (std::size_t i = 0; i < record.inputs().size(); ++i) {
      if (record.tokens(i) == paired->tokens(i)) continue;
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("input {} has {} tokens and the paired one {}, expected equal numbers", i,
                              record.tokens(i), paired->tokens(i)));
    }
  }
  const Network network = resolve_network(record.model());
  require_patchable(record.model(), network);
  post_norm_ = network.order == NormOrder::kPost;
  for (const NetworkLayer& layer : network.layers) {
    // `Model::load_heads` multiplies O by the gain of a norm on the branch, which is an RMSNorm (Gemma).
    norms_.push_back(
        {.after_attention = post_norm_ ? gain_of(record.model(), layer.norm_after_attention) : std::vector<float>(),
         .after_mlp = gain_of(record.model(), layer.norm_after_mlp),
         .centers_attention = centers(layer.norm_after_attention),
         .centers_mlp = centers(layer.norm_after_mlp)});
  }
}

Matrix HeadChange::of_output(HeadId source, std::size_t input) const {
  const MatrixView own = record_.output(source, input);
  Matrix change(own.rows(), own.columns());
  std::vector<float> mean(own.columns());
  if (replacement_ == Replacement::kMean) mean = record_.mean_output(source);
  for (std::size_t t = 0; t < own.rows(); ++t) {
    for (std::size_t j = 0; j < own.columns(); ++j) {
      const float instead = replacement_ == Replacement::kPair ? paired_->output(source, input)(t, j) : mean[j];
      change(t, j) = instead - own(t, j);
    }
  }
  return change;
}

void HeadChange::pass_norm(Matrix& change, std::span<const float> factors, std::span<const float> gain,
                           bool centers) const {
  if (factors.empty()) return;
  for (std::size_t t = 0; t < change.rows(); ++t) {
    const std::span<float> row = change.row(t);
    double mean = 0;
    if (centers) {
      for (const float value : row) mean += static_cast<double>(value) / static_cast<double>(row.size());
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] = (row[j] - static_cast<float>(mean)) * factors[t] * (gain.empty() ? 1.0F : gain[j]);
    }
  }
}

void HeadChange::carry_back(std::size_t layer, Matrix& reads) const {
  // (c - mean c) * gain = c C diag(gain) for a row c, with C = I - 11^T / d: R becomes C diag(gain) R.
  const auto through = [&](std::span<const float> gain, bool centers) {
    if (gain.empty()) return;
    for (std::size_t i = 0; i < reads.rows(); ++i) {
      for (float& value : reads.row(i)) value *= gain[i];
    }
    if (centers) center_columns(reads);
  };
  const LayerNorms& norms = norms_[layer];
  if (post_norm_) through(norms.after_mlp, norms.centers_mlp);
  through(norms.after_attention, norms.centers_attention);
}

std::vector<float> HeadChange::path_factors(std::size_t source, std::size_t target, std::size_t input) const {
  std::vector<float> product(record_.tokens(input), 1.0F);
  const auto multiply_by = [&](std::span<const float> factors) {
    for (std::size_t t = 0; t < factors.size(); ++t) product[t] *= factors[t];
  };
  for (std::size_t layer = source; layer < target; ++layer) {
    if (layer == source || post_norm_) multiply_by(record_.factors(layer, false, input));
    if (post_norm_) multiply_by(record_.factors(layer, true, input));
  }
  return product;
}

// Pre-norm models normalize a branch, which the source is part of in its own layer only.
void HeadChange::pass_attention_norm(Matrix& change, HeadId source, std::size_t layer, std::size_t input) const {
  if (layer != source.layer && !post_norm_) return;
  const LayerNorms& norms = norms_[layer];
  pass_norm(change, record_.factors(layer, false, input), norms.after_attention, norms.centers_attention);
}

Matrix HeadChange::of_stream(HeadId source, std::size_t target, std::size_t input, const HeadWeights& writes) const {
  const Matrix output = of_output(source, input);
  Matrix change(output.rows(), writes.d_model());
  multiply(output.view(), writes.head(source.head).transposed(), change.span());
  for (std::size_t layer = source.layer; layer < target; ++layer) {
    const LayerNorms& norms = norms_[layer];
    pass_attention_norm(change, source, layer, input);
    if (post_norm_) pass_norm(change, record_.factors(layer, true, input), norms.after_mlp, norms.centers_mlp);
  }
  return change;
}

Matrix HeadChange::before_mlp(HeadId source, std::size_t target, std::size_t input, const HeadWeights& writes) const {
  Matrix change = of_stream(source, target, input, writes);
  pass_attention_norm(change, source, target, input);
  return change;
}

}  // namespace headscope
