#include "relate/head_factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/base/parallel.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/rank_tolerance.h"

namespace headscope {
namespace {

std::span<const float> columns_of(const HeadWeights& weights, std::size_t head) {
  const std::size_t size = weights.d_model() * weights.d_head();
  return weights.values().subspan(head * size, size);
}

// Multiplies a factor and its moments: F <- F / divisor.
void divide(std::span<float> factor, GramMoments& moments, double divisor) {
  if (divisor == 0) return;  // a zero head stays zero
  for (float& value : factor) value = static_cast<float>(static_cast<double>(value) / divisor);
  moments.trace /= divisor * divisor;
  moments.trace_of_square /= std::pow(divisor, 4);
}

// The inner factor B of the product B A^T that the composition score takes for this side: V for the writer
// (W = O V^T), and for a reader K (read through Q), Q (read through K), O (read through V).
Role inner_role(const FactorKey& key) {
  if (key.side == Side::kSource) return Role::kV;
  return key.role == Role::kQ ? Role::kK : key.role == Role::kK ? Role::kQ : Role::kO;
}

// Prepares the heads of one layer, one at a time.
class Preparation {
 public:
  Preparation(const Model& model, std::size_t layer, const FactorKey& key, WeightProcessing weights)
      : key_(key), sizes_(model.info().sizes), outer_(model.load_heads(layer, key.role, weights)) {
    tolerance_ = rank_tolerance(model.stored_type(layer, key.role), sizes_.d_model, sizes_.d_head);
    if (key.metric == Metric::kCs) inner_ = model.load_heads(layer, inner_role(key), weights);
  }

  void prepare(std::size_t head, std::span<float> factor, GramMoments& moments, std::size_t& rank) const {
    const std::size_t d = sizes_.d_model;
    const std::size_t h = sizes_.d_head;
    rank = h;
    if (key_.metric == Metric::kCs) {
      multiply_by_gram_root(columns_of(outer_, native(key_.role, head)),
                            columns_of(inner_, native(inner_.role(), head)), d, h, factor);
      moments = gram_moments(factor, d, h);
      divide(factor, moments, std::sqrt(moments.trace));
      return;
    }
    const std::span<const float> weights = columns_of(outer_, head);
    if (key_.metric == Metric::kPk) {
      rank = orthonormal_basis(weights, d, h, tolerance_, factor);
      moments = {static_cast<double>(rank), static_cast<double>(rank)};
      return;
    }
    std::copy(weights.begin(), weights.end(), factor.begin());
    moments = gram_moments(factor, d, h);
    divide(factor, moments,
           key_.metric == Metric::kCka ? std::pow(moments.trace_of_square, 0.25) : std::sqrt(moments.trace));
  }

 private:
  // The head of `role` that query head `head` uses.
  [[nodiscard]] std::size_t native(Role role, std::size_t head) const noexcept {
    return is_key_value(role) ? head / (sizes_.heads / sizes_.kv_heads) : head;
  }

  FactorKey key_;
  HeadSizes sizes_;
  HeadWeights outer_;
  HeadWeights inner_;
  double tolerance_ = 0;
};

}  // namespace

FactorKey factor_key(Metric metric, RolePair pair, Side side) noexcept {
  const Role role = side == Side::kSource ? pair.source : pair.target;
  // Only the composition score treats the two sides differently.
  return {metric, role, metric == Metric::kCs ? side : Side::kSource};
}

std::size_t factor_heads(const FactorKey& key, const HeadSizes& sizes) noexcept {
  return key.metric == Metric::kCs ? sizes.heads : sizes.heads_of(key.role);
}

LayerFactors load_factors(const Model& model, std::size_t layer, const FactorKey& key, WeightProcessing weights,
                          const std::vector<std::size_t>& heads) {
  std::vector<std::size_t> chosen = heads;
  if (chosen.empty()) {
    chosen.resize(factor_heads(key, model.info().sizes));
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  const Preparation preparation(model, layer, key, weights);
  model.release_layer(layer);  // read once, in whatever order layers come; the file may be larger than memory
  const std::size_t size = model.info().sizes.d_model * model.info().sizes.d_head;
  LayerFactors factors{chosen.size(), Buffer<float>(chosen.size() * size), std::vector<GramMoments>(chosen.size()),
                       std::vector<std::size_t>(chosen.size())};
  parallel_for(chosen.size(), [&](std::size_t i) {
    preparation.prepare(chosen[i], factors.values.values().subspan(i * size, size), factors.moments[i],
                        factors.ranks[i]);
  });
  return factors;
}

}  // namespace headscope
