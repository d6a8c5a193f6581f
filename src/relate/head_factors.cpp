#include "relate/head_factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "headscope/base/parallel.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/model/rotary_of.h"
#include "headscope/relate/rank_tolerance.h"
#include "headscope/relate/rotary_average.h"

namespace headscope {
namespace {

// Divides a factor and scales its moments: F <- F / divisor.
void divide(std::span<float> factor, GramMoments& moments, double divisor) {
  if (divisor == 0 || divisor == 1) return;  // a zero head stays zero
  for (float& value : factor) value = static_cast<float>(static_cast<double>(value) / divisor);
  moments.trace /= divisor * divisor;
  moments.trace_of_square /= std::pow(divisor, 4);
  moments.trace_of_cube /= std::pow(divisor, 6);
}

double divisor_of(FactorDivisor divisor, const GramMoments& moments) {
  switch (divisor) {
    case FactorDivisor::kOne:
      return 1;
    case FactorDivisor::kNorm:
      return std::sqrt(moments.trace);
    case FactorDivisor::kRootOfSquare:
      return std::pow(moments.trace_of_square, 0.25);
  }
  throw std::logic_error("unknown divisor of a factor");
}

// The inner factor B of the product B A^T that the composition score uses on this side: V for the writer (W = O V^T);
// for a reader K (read through Q), Q (read through K), O (read through V).
Role inner_role(const FactorKey& key) {
  if (key.side == Side::kSource) return Role::kV;
  return key.role == Role::kQ ? Role::kK : key.role == Role::kK ? Role::kQ : Role::kO;
}

void prepare_head(const FactorWeights& weights, std::size_t head, std::span<float> factor, GramMoments& moments,
                  std::size_t& rank) {
  const std::size_t d = weights.outer.d_model();
  const std::size_t h = weights.outer.d_head();
  const std::span<const float> outer = weights.columns(weights.outer, head);
  rank = h;
  // No default case: a kind that is missing here is a compiler error.
  switch (info(weights.metric).factor) {
    case FactorKind::kBasis:
      rank = orthonormal_basis(outer, d, h, weights.rank_tolerance, factor, weights.outer.noise(head));
      moments = projector_moments(rank);
      return;
    case FactorKind::kWeights:
      std::ranges::copy(outer, factor.begin());
      break;
    case FactorKind::kProduct:
      multiply_by_gram_root(outer, weights.columns(weights.inner, head), d, h, factor);
      break;
    case FactorKind::kRotaryProduct:
      multiply_by_rotary_root(outer, weights.columns(weights.inner, head), d, h, weights.rotary, factor);
      break;
    case FactorKind::kNone:
      throw std::logic_error("not a norm of a product: " + std::string(info(weights.metric).name));
  }
  moments = gram_moments(factor, d, h);
  divide(factor, moments, divisor_of(info(weights.metric).divisor, moments));
}

}  // namespace

FactorKey factor_key(Metric metric, RolePair pair, Side side) noexcept {
  const Role role = side == Side::kSource ? pair.source : pair.target;
  // Only products treat the two sides differently.
  return {metric, role, info(metric).products() ? side : Side::kSource};
}

std::size_t factor_heads(const FactorKey& key, const HeadSizes& sizes) noexcept {
  return info(key.metric).by_query_head() ? sizes.heads : sizes.heads_of(key.role);
}

std::size_t factor_width(const FactorKey& key, const HeadSizes& sizes) noexcept {
  const bool whole_key = key.role == Role::kK && info(key.metric).products();
  return sizes.width(whole_key ? Role::kQ : key.role);
}

namespace {

// Loads a role's matrices. In products, the key of each head of latent attention is its own with the shared one after
// it, as wide as the query.
HeadWeights load_role(const Model& model, std::size_t layer, Role role, Metric metric, WeightProcessing weights,
                      HeadWeights recycled) {
  if (role != Role::kK || model.info().sizes.d_rotary == 0 || !info(metric).products()) {
    return model.load_heads(layer, role, weights, std::move(recycled));
  }
  const HeadWeights own = model.load_heads(layer, role, weights);
  const HeadWeights shared = model.load_rotary_key(layer, weights);
  const std::size_t width = own.d_head() + shared.d_head();
  const std::size_t d = own.d_model();
  Buffer<float> values = std::move(recycled).release();
  if (values.size() != own.heads() * width * d) {
    values = {};
    values = Buffer<float>(own.heads() * width * d);
  }
  parallel_for(own.heads(), [&](std::size_t head) {
    float* out = std::ranges::copy(own.columns(head), values.data() + head * width * d).out;
    std::ranges::copy(shared.columns(0), out);
  });
  return {role, d, width, std::move(values)};
}

// Heads that read a latent lie in the span of the map to it.
std::size_t joint_rank(const Model& model, std::size_t layer, const FactorKey& key) {
  const std::optional<LatentTensors>& latent = model.head_map().layers[layer].latent;
  if (!latent || key.role == Role::kO || info(key.metric).products()) return 0;
  return latent->of(key.role).rank;
}

}  // namespace

FactorWeights load_weights(const Model& model, std::size_t layer, const FactorKey& key, WeightProcessing weights,
                           const std::vector<std::size_t>& heads, FactorWeights recycled) {
  const HeadSizes& sizes = model.info().sizes;
  FactorWeights loaded;
  loaded.metric = key.metric;
  loaded.outer = load_role(model, layer, key.role, key.metric, weights, std::move(recycled.outer));
  if (info(key.metric).products()) {
    loaded.inner = load_role(model, layer, inner_role(key), key.metric, weights, std::move(recycled.inner));
  }
  const bool rotated = key.side == Side::kTarget && (key.role == Role::kQ || key.role == Role::kK);
  if (info(key.metric).factor == FactorKind::kRotaryProduct && rotated) loaded.rotary = rotary_of(model, layer);
  loaded.heads = heads;
  if (heads.empty()) {
    loaded.heads.resize(factor_heads(key, sizes));
    std::iota(loaded.heads.begin(), loaded.heads.end(), std::size_t{0});
  }
  loaded.queries_per_kv = sizes.queries_per_kv(layer);
  loaded.rank_tolerance = rank_tolerance(model.stored_type(layer, key.role), sizes.d_model, loaded.outer.d_head());
  loaded.joint_rank = joint_rank(model, layer, key);
  model.release_layer(layer);  // read once, in any order of layers; the file may be larger than memory
  return loaded;
}

LayerFactors prepare_factors(const FactorWeights& weights, LayerFactors recycled) {
  const std::size_t size = weights.outer.d_model() * weights.outer.d_head();
  const std::size_t heads = weights.heads.size();
  LayerFactors factors{heads, std::move(recycled.values), std::vector<GramMoments>(heads),
                       std::vector<std::size_t>(heads)};
  if (factors.values.size() != heads * size) factors.values = Buffer<float>(heads * size);
  parallel_for(heads, [&](std::size_t i) {
    prepare_head(weights, weights.heads[i], factors.values.values().subspan(i * size, size), factors.moments[i],
                 factors.ranks[i]);
  });
  return factors;
}

LayerFactors load_factors(const Model& model, std::size_t layer, const FactorKey& key, WeightProcessing weights,
                          const std::vector<std::size_t>& heads) {
  return prepare_factors(load_weights(model, layer, key, weights, heads));
}

}  // namespace headscope
