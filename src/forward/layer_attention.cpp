#include "headscope/forward/layer_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "forward/attention.h"
#include "forward/parallel_rows.h"
#include "forward/rotary_table.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// `width` columns per head, from `offset` after its first one.
Matrix columns_of_heads(const Matrix& all, const HeadSlice& slice, std::size_t heads, std::size_t offset,
                        std::size_t width) {
  Matrix result(all.rows(), heads * width);
  for (std::size_t t = 0; t < all.rows(); ++t) {
    for (std::size_t a = 0; a < heads; ++a) {
      std::ranges::copy(all.row(t).subspan(slice.first_of(a) + offset, width), result.row(t).begin() + a * width);
    }
  }
  return result;
}

}  // namespace

struct LayerAttention::Parts {
  const Model& model;
  Network network;
  std::size_t layer;
  std::optional<Norm> norm;
  std::vector<float> gain;
  std::vector<float> sinks;                        // by head; empty for none
  std::array<std::optional<Norm>, 2> place_norms;  // Q and K
  std::map<std::size_t, RotaryTable> tables;       // by number of tokens, since some scalings depend on it
};

LayerAttention::LayerAttention(const Model& model, std::size_t layer, std::span<const std::size_t> lengths) {
  Network network = resolve_network(model);
  require_patchable(model, network);
  if (layer >= network.layers.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("there is no layer {}; the model has {}", layer, network.layers.size()));
  }
  const NetworkLayer& own = network.layers[layer];
  std::optional<Norm> norm = load_norm(model.checkpoint(), own.norm);
  std::vector<float> gain;
  if (own.norm) {
    gain.assign(model.info().sizes.d_model, 1.0F);
    if (own.norm->gain != nullptr) gain = read_vector(model.checkpoint(), *own.norm->gain);
    for (float& one : gain) one += own.norm->offset;
  }
  std::array<std::optional<Norm>, 2> place_norms = {load_norm(model.checkpoint(), own.q_norm),
                                                    load_norm(model.checkpoint(), own.k_norm)};
  std::map<std::size_t, RotaryTable> tables;
  for (const std::size_t length : lengths) {
    tables.try_emplace(length,
                       !own.rotary        ? Rotary{}
                       : own.local_rotary ? network.local_rotary
                                          : network.rotary,
                       length);
  }
  std::vector<float> sinks;
  if (own.sinks != nullptr) sinks = read_vector(model.checkpoint(), *own.sinks);
  parts_ = std::make_unique<Parts>(Parts{model, std::move(network), layer, std::move(norm), std::move(gain),
                                         std::move(sinks), std::move(place_norms), std::move(tables)});
}

LayerAttention::LayerAttention(LayerAttention&&) noexcept = default;
LayerAttention::~LayerAttention() = default;

ProjectedHeads LayerAttention::project(MatrixView stream) const {
  const HeadSizes& sizes = parts_->model.info().sizes;
  const NetworkLayer& layer = parts_->network.layers[parts_->layer];
  Matrix read(stream.rows(), stream.columns());
  for (std::size_t t = 0; t < stream.rows(); ++t) {
    std::copy_n(stream.data() + t * stream.row_stride(), stream.columns(), read.row(t).begin());
  }
  if (parts_->norm) parts_->norm->apply(read.view(), read.span());
  ProjectedHeads result;
  Buffer<float> scratch;
  const std::array<Matrix*, 3> parts = {&result.q, &result.k, &result.v};
  for (std::size_t r = 0; r < 3; ++r) {
    const std::size_t heads = r == 0 ? sizes.heads : sizes.kv_heads;
    Matrix all(stream.rows(), layer.linear[r].out());
    apply_linear(parts_->model.checkpoint(), layer.linear[r], read.view(), all.span(), scratch);
    *parts[r] = columns_of_heads(all, layer.slices[r], heads, 0, sizes.d_head);
    if (r > 0 || !layer.gated_output) continue;
    result.gates = columns_of_heads(all, layer.slices[r], heads, sizes.d_head, sizes.d_head);
    for (float& gate : result.gates.values()) gate = 1 / (1 + std::exp(-gate));
  }
  return result;
}

std::vector<float> LayerAttention::read_factors(MatrixView stream) const {
  std::vector<float> factors(stream.rows(), 1.0F);
  if (!parts_->norm) return factors;
  for (std::size_t t = 0; t < stream.rows(); ++t) {
    factors[t] = parts_->norm->factor({stream.data() + t * stream.row_stride(), stream.columns()});
  }
  return factors;
}

const std::vector<float>& LayerAttention::read_gain() const noexcept {
  return parts_->gain;
}

bool LayerAttention::centers() const noexcept {
  const auto& norm = parts_->network.layers[parts_->layer].norm;
  return norm && norm->kind == NormKind::kLayerNorm;
}

void LayerAttention::place(Role role, MatrixSpan rows) const {
  if (role != Role::kQ && role != Role::kK) return;
  const auto& norm = parts_->place_norms[role == Role::kQ ? 0 : 1];
  const RotaryTable& table = parts_->tables.at(rows.rows());
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    if (norm) norm->apply_row(rows.row(t), rows.row(t));  // `require_patchable`: one gain for all heads
    table.rotate(t, rows.row(t).data());
    if (role == Role::kQ && parts_->network.layers[parts_->layer].growing_queries)
      grow_query(parts_->network, t, rows.row(t));
  }
}

void LayerAttention::pattern(std::size_t head, MatrixView q, MatrixView k, MatrixSpan out) const {
  const NetworkLayer& layer = parts_->network.layers[parts_->layer];
  multiply(q, k.transposed(), out, layer.score_scale);
  for (std::size_t t = 0; t < out.rows(); ++t) {
    const std::span<float> row = out.row(t);
    const auto [begin, end] = keys_seen(t, row.size(), parts_->network.causal, layer.window, layer.chunk);
    if (parts_->network.score_cap > 0) soft_cap(row, parts_->network.score_cap);
    std::fill(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(begin), 0.0F);
    const std::span<float> seen = row.subspan(begin, end - begin);
    if (parts_->sinks.empty()) {
      softmax(seen);
    } else {
      softmax_with_sink(seen, parts_->sinks[head]);
    }
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(end), row.end(), 0.0F);
  }
}

}  // namespace headscope
