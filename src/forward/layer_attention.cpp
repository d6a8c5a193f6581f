#include "headscope/forward/layer_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "forward/head_columns.h"
#include "forward/latent.h"
#include "forward/layer_scores.h"
#include "forward/pass/position_tables.h"
#include "forward/placement.h"
#include "forward/rotary_table.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// `width` components of each head, from `offset` after its first one.
Matrix components_of_heads(const HeadColumns& all, std::size_t rows, std::size_t heads, std::size_t offset,
                           std::size_t width) {
  Matrix result(rows, heads * width);
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t a = 0; a < heads; ++a) {
      std::copy_n(all.at(t, a) + offset, width, result.row(t).begin() + static_cast<std::ptrdiff_t>(a * width));
    }
  }
  return result;
}

Matrix normalized(MatrixView rows, const std::optional<Norm>& norm) {
  Matrix result(rows.rows(), rows.columns());
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    std::copy_n(rows.data() + t * rows.row_stride(), rows.columns(), result.row(t).begin());
  }
  if (norm) norm->apply(result.view(), result.span());
  return result;
}

// Divides the heads of each token as their norm over all heads together does. Returns the factors.
std::vector<float> divide_jointly(const Placement& placement, Role role, Matrix& heads) {
  std::vector<float> factors(heads.rows());
  for (std::size_t t = 0; t < heads.rows(); ++t) {
    factors[t] = placement.joint_factor(role, heads.row(t));
    for (float& value : heads.row(t)) value *= factors[t];
  }
  return factors;
}

}  // namespace

struct LayerAttention::Parts {
  // The norm of what a role reads, and its gain.
  struct ReadNorm {
    ReadNorm(const Model& model, const std::optional<StoredNorm>& stored)
        : norm(load_norm(model.checkpoint(), stored)), centers(stored && stored->kind == NormKind::kLayerNorm) {
      if (!stored) return;
      gain.assign(model.info().sizes.d_model, 1.0F);
      if (stored->gain != nullptr) gain = read_vector(model.checkpoint(), *stored->gain);
      for (float& one : gain) one += stored->offset;
    }

    std::optional<Norm> norm;
    std::vector<float> gain;
    bool centers;
  };

  Parts(const Model& of, Network resolved, std::size_t own, std::span<const InputShape> inputs)
      : model(of),
        network(std::move(resolved)),
        index(own),
        layer(network.layers[index]),
        is_cross(layer.block == Block::kCross),
        of_stream(model, layer.norm),
        of_keys(model, is_cross ? network.memory_norm : layer.norm),
        placement(model.checkpoint(), network, model.info().sizes, index),
        shapes(inputs.begin(), inputs.end()),
        positions(model, network, layer.block == Block::kDecoder ? network.target_bias : network.bias, layer.causal,
                  shapes),
        scores(model, network, layer) {
    Buffer<float> scratch;
    for (const InputShape& shape : shapes) {
      if (!by_shape.contains(shape)) by_shape.try_emplace(shape, model, network, layer, shape, scratch);
    }
    for (const InputShape& shape : shapes) {
      rules.push_back(scores.rules(by_shape.at(shape), positions.bias(layer, shape)));
    }
  }

  [[nodiscard]] const ReadNorm& norm_of(Role role) const { return is_key_value(role) ? of_keys : of_stream; }

  const Model& model;
  Network network;
  std::size_t index;
  const NetworkLayer& layer;
  bool is_cross;  // whether K and V read the output of the encoder
  ReadNorm of_stream;
  ReadNorm of_keys;
  Placement placement;
  std::vector<InputShape> shapes;  // by input
  PositionTables positions;
  LayerScores scores;
  std::map<InputShape, InputScores> by_shape;
  std::vector<ScoreRules> rules;  // by input
};

LayerAttention::LayerAttention(const Model& model, std::size_t layer, std::span<const InputShape> shapes) {
  Network network = resolve_network(model);
  if (layer >= network.layers.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("there is no layer {}; the model has {}", layer, network.layers.size()));
  }
  parts_ = std::make_unique<Parts>(model, std::move(network), layer, shapes);
}

LayerAttention::LayerAttention(LayerAttention&&) noexcept = default;
LayerAttention::~LayerAttention() = default;

ProjectedHeads LayerAttention::project(MatrixView stream, MatrixView keys) const {
  const HeadSizes& sizes = parts_->model.info().sizes;
  const Checkpoint& checkpoint = parts_->model.checkpoint();
  const NetworkLayer& layer = parts_->layer;
  const Matrix query_read = normalized(stream, parts_->of_stream.norm);
  const Matrix key_read = parts_->is_cross ? normalized(keys, parts_->of_keys.norm) : Matrix();
  ProjectedHeads result;
  Buffer<float> scratch;
  LayerHeads projected;
  if (layer.latent) projected = project_latent(checkpoint, layer, sizes, query_read.view(), scratch);
  const std::array<Matrix*, 3> parts = {&result.q, &result.k, &result.v};
  for (std::size_t r = 0; r < 3; ++r) {
    const Role role = kRoles[r];
    const std::size_t heads = sizes.heads_of(parts_->index, role);
    const std::size_t width = sizes.width(parts_->index, role == Role::kK ? Role::kQ : role);
    if (heads == 0) continue;  // those of an earlier layer
    const Matrix& read = parts_->is_cross && is_key_value(role) ? key_read : query_read;
    Matrix all;
    if (!layer.latent) {
      all = Matrix(read.rows(), layer.linear[r].out());
      apply_linear(checkpoint, layer.linear[r], read.view(), all.span(), scratch);
      projected.columns[r] = {all.values().data(), all.columns(), layer.slices[r]};
    }
    *parts[r] = components_of_heads(projected.columns[r], read.rows(), heads, 0, width);
    if (layer.role_biases[r] != nullptr) {
      const std::vector<float> bias = read_vector(checkpoint, *layer.role_biases[r]);
      for (std::size_t t = 0; t < read.rows(); ++t) add_scaled(bias, {}, parts[r]->row(t));
    }
    if (parts_->placement.is_joint(role)) result.factors[r] = divide_jointly(parts_->placement, role, *parts[r]);
    if (const auto map = latent_map(layer, role)) {
      result.factors[r] = latent_factors(checkpoint, *map, read.view(), scratch);
    }
    if (r > 0 || !layer.gated_output) continue;
    result.gates = components_of_heads(projected.columns[r], read.rows(), heads, width, width);
    for (float& gate : result.gates.values()) gate = 1 / (1 + std::exp(-gate));
  }
  return result;
}

std::optional<LatentRead> LayerAttention::latent(Role role) const {
  const Checkpoint& checkpoint = parts_->model.checkpoint();
  const HeadSizes& sizes = parts_->model.info().sizes;
  const NetworkLayer& layer = parts_->layer;
  const std::optional<LatentMap> map = latent_map(layer, role);
  if (!map) return std::nullopt;
  const auto r = static_cast<std::size_t>(role);
  const std::size_t heads = sizes.heads_of(parts_->index, role);
  const std::size_t width = sizes.width(parts_->index, role);
  LatentRead read{Matrix(sizes.d_model, map->rank), Matrix(map->rank, heads * width)};
  Buffer<float> scratch;
  const MatrixView down = linear_weights(checkpoint, *map->down, scratch);
  for (std::size_t i = 0; i < sizes.d_model; ++i) {
    for (std::size_t j = 0; j < map->rank; ++j) read.down(i, j) = down(i, j);
  }
  const MatrixView up = linear_weights(checkpoint, layer.linear[r], scratch);
  const Norm norm(checkpoint, *map->norm);
  for (std::size_t i = 0; i < map->rank; ++i) {
    for (std::size_t a = 0; a < heads; ++a) {
      for (std::size_t j = 0; j < width; ++j) {
        read.heads(i, a * width + j) = norm.gain(i) * up(i, layer.slices[r].first_of(a) + j);
      }
    }
  }
  return read;
}

std::vector<float> LayerAttention::read_factors(Role role, MatrixView rows) const {
  std::vector<float> factors(rows.rows(), 1.0F);
  const std::optional<Norm>& norm = parts_->norm_of(role).norm;
  if (!norm) return factors;
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    factors[t] = norm->factor({rows.data() + t * rows.row_stride(), rows.columns()});
  }
  return factors;
}

const std::vector<float>& LayerAttention::read_gain(Role role) const noexcept {
  return parts_->norm_of(role).gain;
}

bool LayerAttention::centers(Role role) const noexcept {
  return parts_->norm_of(role).centers;
}

void LayerAttention::place(Role role, std::size_t head, std::size_t input, MatrixSpan rows) const {
  const RotaryTable& table = parts_->positions.rotary(parts_->layer, parts_->shapes[input]);
  for (std::size_t t = 0; t < rows.rows(); ++t) parts_->placement.place(role, head, t, table, rows.row(t));
}

bool LayerAttention::places_values() const noexcept {
  return parts_->placement.changes(Role::kV);
}

void LayerAttention::pattern(std::size_t head, std::size_t input, MatrixView q, MatrixView k, MatrixSpan out) const {
  compute_pattern(parts_->rules[input], head, q, k, out);
}

std::size_t LayerAttention::positions_memory(const Model& model, std::span<const InputShape> shapes) {
  const Network network = resolve_network(model);
  const HeadSizes& sizes = model.info().sizes;
  const std::set<InputShape> distinct(shapes.begin(), shapes.end());
  std::size_t floats = 0;
  std::size_t scratch = 0;
  for (const InputShape& shape : distinct) {
    // Sines and cosines; by head and distance, a bias; by distance, what queries and keys are compared with.
    floats += shape.tokens * (network.rotary.width + network.local_rotary.width);
    const bool has_bias = !network.bias.empty() || !network.layers.front().bias.empty();
    if (has_bias) floats += 2 * shape.tokens * sizes.heads;
    if (!network.relative.empty()) {
      floats += 6 * shape.tokens * std::max(sizes.d_model, sizes.heads * sizes.d_head);
      scratch = std::max(scratch, 4 * shape.tokens * shape.tokens);  // of one pattern
    }
    floats += 4 * shape.grid.size() * sizes.heads;
  }
  return (floats + scratch * thread_count()) * sizeof(float);
}

}  // namespace headscope
