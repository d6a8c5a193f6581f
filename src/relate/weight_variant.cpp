#include "headscope/relate/weight_variant.h"

#include <algorithm>
#include <cstring>

#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/linalg/symmetric_eigen.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"
#include "relate/layer_owner.h"

namespace headscope {
namespace {

// Subtracts from the column its part along a unit vector.
void remove(std::span<float> column, std::span<const float> direction) {
  double along = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    along += static_cast<double>(column[i]) * static_cast<double>(direction[i]);
  }
  for (std::size_t i = 0; i < column.size(); ++i) {
    column[i] = static_cast<float>(static_cast<double>(column[i]) - along * static_cast<double>(direction[i]));
  }
}

// Adds the projectors of `count` contiguous orthonormal vectors. Tiles are fixed, so threads do not affect the bits.
void add_projectors(Matrix& sum, std::span<const float> vectors, std::size_t count) {
  constexpr std::size_t kTile = 256;
  const std::size_t d = sum.rows();
  const std::size_t tiles = (d + kTile - 1) / kTile;
  const MatrixView all(vectors.data(), d, count, 1, d);
  parallel_for(tiles * tiles, [&](std::size_t index) {
    const std::size_t i = index / tiles * kTile;
    const std::size_t j = index % tiles * kTile;
    if (i < j) return;  // the lower triangle is enough
    const std::size_t rows = std::min(kTile, d - i);
    const std::size_t columns = std::min(kTile, d - j);
    multiply(all.block(i, rows, 0, count), all.block(j, columns, 0, count).transposed(),
             sum.span().block(i, rows, j, columns), 1, 1);
  });
}

// Sums the projectors of a role over all selected heads, on rank 0 and in layer order.
Matrix sum_of_projectors(const Model& model, Role role, const AffinityOptions& options, Ranks& ranks) {
  const HeadSizes& sizes = model.info().sizes;
  const HeadSelection selection(sizes, options.layers, options.heads, options.named_heads);
  Matrix sum(ranks.is_root() ? sizes.d_model : 0, ranks.is_root() ? sizes.d_model : 0);
  for (std::size_t i = 0; i < selection.layers().size(); ++i) {
    const std::size_t owner = layer_owner(i, ranks.size());
    if (owner == ranks.rank()) {
      const LayerFactors bases = load_factors(model, selection.layers()[i], {Metric::kPk, role, Side::kSource},
                                              options.weights, selection.heads(is_key_value(role)).of(i));
      const std::span<const float> vectors = bases.values.values();
      if (ranks.is_root()) {
        add_projectors(sum, vectors, vectors.size() / sizes.d_model);
      } else {
        ranks.send(0, std::as_bytes(vectors));
      }
    } else if (ranks.is_root()) {
      const std::vector<std::byte> bytes = ranks.receive(owner);
      std::vector<float> vectors(bytes.size() / sizeof(float));
      MessageReader(bytes).take_all(std::span(vectors));
      add_projectors(sum, vectors, vectors.size() / sizes.d_model);
    }
  }
  return sum;
}

std::vector<float> leading_vectors(const Matrix& sum, std::size_t count) {
  const std::size_t d = sum.rows();
  DoubleMatrix matrix(d, d);
  std::ranges::transform(sum.values(), matrix.values().begin(), [](float value) { return static_cast<double>(value); });
  const SymmetricEigen eigen = leading_eigen(matrix, count);
  std::vector<float> vectors;
  for (std::size_t k = eigen.values.size(); k-- > 0;) {
    for (const double value : eigen.vectors.row(k)) vectors.push_back(static_cast<float>(value));
  }
  return vectors;
}

}  // namespace

void WeightVariant::apply(const Model& model, std::size_t layer, HeadWeights& weights) const {
  if (weights.heads() == 0) return;
  apply_steps(model, layer, steps, weights);
  const std::vector<float>& directions = removed[static_cast<std::size_t>(weights.role())];
  const std::size_t d = weights.d_model();
  if (directions.empty()) return;
  parallel_for(weights.heads(), [&](std::size_t head) {
    for (std::size_t j = 0; j < weights.d_head(); ++j) {
      for (std::size_t k = 0; k < directions.size(); k += d) {
        remove(weights.column(head, j), std::span(directions).subspan(k, d));
      }
    }
  });
}

std::array<std::vector<float>, 4> common_directions(const Model& model, std::span<const Role> roles, std::size_t count,
                                                    const AffinityOptions& options, const Context& context) {
  Ranks& ranks = context.ranks;
  std::array<std::vector<float>, 4> result;
  for (const Role role : roles) {
    const Matrix sum = sum_of_projectors(model, role, options, ranks);
    std::vector<float>& vectors = result[static_cast<std::size_t>(role)];
    if (ranks.is_root()) vectors = leading_vectors(sum, count);
    const std::span<const std::byte> own = std::as_bytes(std::span(vectors));
    std::vector<std::byte> bytes(own.begin(), own.end());
    ranks.broadcast(bytes);
    vectors.resize(bytes.size() / sizeof(float));
    std::memcpy(vectors.data(), bytes.data(), bytes.size());
    context.report(0);
  }
  return result;
}

}  // namespace headscope
