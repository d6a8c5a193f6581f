#include "headscope/apply/head_weight_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/relate/null_model.h"

namespace headscope {
namespace {

// A^T A, in double.
DoubleMatrix gram(MatrixView a) {
  const std::size_t h = a.columns();
  DoubleMatrix g(h, h);
  for (std::size_t i = 0; i < h; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.rows(); ++k) sum += static_cast<double>(a(k, i)) * static_cast<double>(a(k, j));
      g(i, j) = g(j, i) = sum;
    }
  }
  return g;
}

// The query heads that an affinity's head represents.
std::vector<std::size_t> query_heads(HeadId id, const HeadSizes& sizes) {
  if (!id.key_value) return {id.layer * sizes.heads + id.head};
  const std::size_t share = sizes.queries_per_kv(id.layer);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < share; ++i) all.push_back(id.layer * sizes.heads + id.head * share + i);
  return all;
}

}  // namespace

std::vector<double> output_value_norms(const Model& model) {
  const HeadSizes& sizes = model.info().sizes;
  std::vector<double> norms(sizes.layers * sizes.heads);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const std::size_t share = sizes.queries_per_kv(layer);
    const HeadWeights values = model.load_heads(sizes.kv_layer(layer), Role::kV);
    const HeadWeights outputs = model.load_heads(layer, Role::kO);
    std::vector<DoubleMatrix> read(values.heads());
    parallel_for(values.heads(), [&](std::size_t a) { read[a] = gram(values.head(a)); });
    parallel_for(sizes.heads, [&](std::size_t a) {
      const DoubleMatrix written = gram(outputs.head(a));
      double trace = 0;
      for (std::size_t i = 0; i < written.values().size(); ++i) {
        trace += written.values()[i] * read[a / share].values()[i];
      }
      norms[layer * sizes.heads + a] = std::sqrt(std::max(trace, 0.0));
    });
    model.release_layer(layer);
  }
  return norms;
}

std::vector<double> pk_strengths(const Model& model, const AffinityOptions& options, const Context& context) {
  const HeadSizes& sizes = model.info().sizes;
  if (sizes.layers < 2) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has one layer, so no head is earlier than another and none has a PK strength",
                            model.checkpoint().path().string()));
  }
  constexpr std::array<RolePair, 3> kPairs = {RolePair{Role::kO, Role::kQ}, RolePair{Role::kO, Role::kK},
                                              RolePair{Role::kO, Role::kV}};
  constexpr double kLevel = 0.05;
  AffinityOptions later = options;
  later.earlier_only = true;
  const auto affinities = compute_affinities(model, Metric::kPk, kPairs, later, context.on_one_rank()).value();
  std::vector<double> strengths(sizes.layers * sizes.heads);
  for (const Affinities& one : affinities) {
    const Significance found =
        significance(one, NullModel::kIsotropic, isotropic_dimension(model.info(), options.weights));
    for (std::size_t i = 0; i < one.source.heads.size(); ++i) {
      for (std::size_t j = 0; j < one.target.heads.size(); ++j) {
        if (!is_later(one, i, j)) continue;
        if (!(static_cast<double>(found.log10_q(i, j)) < std::log10(kLevel))) continue;
        for (const HeadId id : {one.source.heads[i], one.target.heads[j]}) {
          for (const std::size_t head : query_heads(id, sizes)) strengths[head] += static_cast<double>(found.z(i, j));
        }
      }
    }
  }
  return strengths;
}

}  // namespace headscope
