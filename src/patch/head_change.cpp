#include "headscope/patch/head_change.h"

#include <fmt/format.h>

#include <numbers>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/forward/write_means.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/layer_order.h"
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
    : record_(record), sizes_(record.model().info().sizes), replacement_(replacement), paired_(paired) {
  if (replacement == Replacement::kPair) {
    if (paired == nullptr || paired->inputs().size() != record.inputs().size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} inputs and {} paired ones, expected one for each", record.inputs().size(),
                              paired == nullptr ? 0 : paired->inputs().size()));
    }
    for (std::size_t i = 0; i < record.inputs().size(); ++i) {
      const TokenCounts& own = record.counts(i);
      const TokenCounts& other = paired->counts(i);
      const bool source = own.source != other.source;
      if (!source && own.target == other.target) continue;
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("input {} has {} tokens{} and the paired one {}, expected equal numbers", i,
                              source ? own.source : own.target, source ? "" : " of its target",
                              source ? other.source : other.target));
    }
  }
  const Network network = resolve_network(record.model());
  post_norm_ = network.order == NormOrder::kPost;
  for (const NetworkLayer& layer : network.layers) {
    norms_.push_back(
        {.after_mlp = gain_of(record.model(), layer.norm_after_mlp), .centers_mlp = centers(layer.norm_after_mlp)});
    LayerNorms& norms = norms_.back();
    norms.stream_factor = layer.low_rank ? 1 / std::numbers::sqrt2_v<float> : 1;
    norms.branch_factor = network.branch_factor * layer.attention_factor * norms.stream_factor;
    if (layer.block_scale != nullptr) {
      norms.block_scale = read_vector(record.model().checkpoint(), *layer.block_scale).front();
    }
    // `load_writes` has the gain and the centering of a norm on the branch.
    if (post_norm_) {
      norms.after_attention = gain_of(record.model(), layer.norm_after_attention);
      norms.centers_attention = centers(layer.norm_after_attention);
    } else if (centers(layer.norm_after_attention)) {
      norms.branch_gain = gain_of(record.model(), layer.norm_after_attention);
      norms.write_means = write_means(record.model(), layer);
    }
  }
}

HeadWeights HeadChange::load_writes(std::size_t layer, HeadWeights recycled) const {
  HeadWeights writes = record_.model().load_heads(layer, Role::kO, WeightProcessing::kRaw, std::move(recycled));
  const LayerNorms& norms = norms_[layer];
  for (std::size_t k = 0; k < norms.write_means.size(); ++k) {
    const std::span<float> column = writes.column(k / writes.d_head(), k % writes.d_head());
    for (std::size_t i = 0; i < column.size(); ++i) {
      column[i] -= norms.write_means[k] * (norms.branch_gain.empty() ? 1.0F : norms.branch_gain[i]);
    }
  }
  return writes;
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
    for (std::size_t i = 0; i < gain.size(); ++i) {
      for (float& value : reads.row(i)) value *= gain[i];
    }
    if (centers) center_columns(reads);
  };
  const LayerNorms& norms = norms_[layer];
  if (post_norm_) through(norms.after_mlp, norms.centers_mlp);
  through(norms.after_attention, norms.centers_attention);
}

std::vector<float> HeadChange::path_factors(std::size_t source, std::size_t step, std::size_t input) const {
  std::vector<float> product(record_.rows(source, input), branch_factor(source));
  const auto multiply_by = [&](std::span<const float> factors) {
    for (std::size_t t = 0; t < factors.size(); ++t) product[t] *= factors[t];
  };
  for (std::size_t s = step_of(sizes_, source); s < step; ++s) {
    const std::size_t layer = layer_at(sizes_, s);
    if (layer == source || post_norm_) multiply_by(record_.factors(layer, false, input));
    if (post_norm_) multiply_by(record_.factors(layer, true, input));
    for (float& factor : product) factor *= norms_[layer].block_scale;
  }
  multiply_by(mixing_factors(source, step, input));
  return product;
}

// Every stream gets a multiple of the change, so that one number per token and stream says what becomes of it.
std::vector<float> HeadChange::mixing_factors(std::size_t source, std::size_t target, std::size_t input) const {
  const MatrixView first = record_.mixing(source, /*corrects=*/true, input);
  if (first.rows() == 0 || source == target) return {};
  const std::size_t streams = first.columns();
  std::vector<float> factors(first.rows());
  std::vector<float> shares(streams);
  std::vector<float> mixed(streams);
  for (std::size_t t = 0; t < factors.size(); ++t) {
    for (std::size_t s = 0; s < streams; ++s) shares[s] = 1 + first(t, s);
    for (std::size_t layer = source + 1; layer <= target; ++layer) {
      const MatrixView prediction = record_.mixing(layer, /*corrects=*/false, input);
      for (std::size_t to = 0; to < streams; ++to) {
        mixed[to] = shares[to];
        for (std::size_t from = 0; from < streams; ++from)
          mixed[to] += prediction(t, to * streams + from) * shares[from];
      }
      if (layer == target) break;
      const MatrixView correction = record_.mixing(layer, /*corrects=*/true, input);
      const float change = (norms_[layer].stream_factor - 1) * mixed[0];
      for (std::size_t s = 0; s < streams; ++s) shares[s] = mixed[s] + (1 + correction(t, s)) * change;
    }
    factors[t] = mixed[0];
  }
  return factors;
}

// Pre-norm models normalize a branch, which the source is part of in its own layer only.
void HeadChange::pass_attention_norm(Matrix& change, std::size_t source, std::size_t layer, std::size_t input) const {
  if (layer != source && !post_norm_) return;
  const LayerNorms& norms = norms_[layer];
  pass_norm(change, record_.factors(layer, false, input), norms.after_attention, norms.centers_attention);
}

Matrix HeadChange::of_stream(HeadId source, std::size_t step, std::size_t input, const HeadWeights& writes) const {
  const Matrix output = of_output(source, input);
  Matrix change(output.rows(), writes.d_model());
  const std::size_t own = sizes_.layer_of(source).value();
  multiply(output.view(), writes.head(source.head).transposed(), change.span(), branch_factor(own));
  for (std::size_t s = step_of(sizes_, own); s < step; ++s) {
    const std::size_t layer = layer_at(sizes_, s);
    const LayerNorms& norms = norms_[layer];
    pass_attention_norm(change, own, layer, input);
    if (post_norm_) pass_norm(change, record_.factors(layer, true, input), norms.after_mlp, norms.centers_mlp);
    if (norms.block_scale == 1) continue;
    for (float& value : change.values()) value *= norms.block_scale;
  }
  const std::vector<float> mixed = mixing_factors(own, step, input);
  for (std::size_t t = 0; t < mixed.size(); ++t) {
    for (float& value : change.row(t)) value *= mixed[t];
  }
  return change;
}

Matrix HeadChange::before_mlp(HeadId source, std::size_t target, std::size_t input, const HeadWeights& writes) const {
  Matrix change = of_stream(source, step_of(sizes_, target), input, writes);
  const std::size_t own = sizes_.layer_of(source).value();
  pass_attention_norm(change, own, target, input);
  if (own != target) {
    for (float& value : change.values()) value *= norms_[target].stream_factor;
  }
  return change;
}

}  // namespace headscope
