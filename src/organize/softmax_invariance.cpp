#include "headscope/organize/softmax_invariance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headscope/base/error.h"
#include "headscope/organize/row_permutation.h"
#include "headscope/organize/tensor_haar.h"

namespace headscope {
namespace {

bool is_present(std::span<const std::uint8_t> mask, std::size_t i) {
  return mask.empty() || mask[i] != 0;
}

// A tensor of one map with the mask of a head.
NetworkTensor one_map(const NetworkTensor& scores, std::size_t head, std::span<const double> values, MapKind kind) {
  NetworkTensor map;
  map.extents = {1, scores.queries(), scores.keys()};
  map.kind = kind;
  map.head_names = {scores.head_names[head]};
  map.query_positions = scores.query_positions;
  map.key_positions = scores.key_positions;
  const auto mask = scores.mask(head);
  map.present.assign(mask.begin(), mask.end());
  map.values = Buffer<float>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    map.values.data()[i] = is_present(mask, i) ? static_cast<float>(values[i]) : 0.0F;
  }
  return map;
}

// Whether every row is nonnegative and sums to 1, up to the rounding of half precision.
bool is_softmax(const NetworkTensor& scores, std::size_t head) {
  const auto map = scores.map(head);
  const auto mask = scores.mask(head);
  for (std::size_t q = 0; q < scores.queries(); ++q) {
    double sum = 0;
    for (std::size_t i = q * scores.keys(); i < (q + 1) * scores.keys(); ++i) {
      if (!is_present(mask, i)) continue;
      if (map[i] < 0) return false;
      sum += static_cast<double>(map[i]);
    }
    if (std::abs(sum - 1) > 1e-2) return false;
  }
  return true;
}

void check(const NetworkTensor& scores, std::size_t head) {
  if (scores.kind != MapKind::kScores) {
    throw Error(ErrorKind::kInvalidArgument,
                "softmax: the maps are patterns, expected scores, since softmax is applied here");
  }
  if (is_softmax(scores, head)) {
    throw Error(ErrorKind::kFormat,
                fmt::format("softmax: every row of {} is nonnegative and sums to 1, so softmax was already applied; "
                            "expected scores",
                            scores.head_names[head]));
  }
}

Regularity fit(const DoubleMatrix& values, const HaarBasis& query, const HaarBasis& key) {
  std::vector<double> coefficients(values.values().begin(), values.values().end());
  haar_transform(coefficients, values.rows(), key, 1, HaarDirection::kForward);
  haar_transform(coefficients, 1, query, values.columns(), HaarDirection::kForward);
  return fit_regularity(coefficients, {{1, values.rows(), values.columns()}, {nullptr, &query, &key}});
}

double relative_error(const DoubleMatrix& target, const DoubleMatrix& other, std::span<const std::uint8_t> mask) {
  double lost = 0;
  double total = 0;
  for (std::size_t i = 0; i < target.values().size(); ++i) {
    if (!is_present(mask, i)) continue;
    const double off = target.values()[i] - other.values()[i];
    lost += off * off;
    total += target.values()[i] * target.values()[i];
  }
  return std::sqrt(lost / total);
}

ParaproductFigures figures(const DoubleMatrix& g, const Paraproduct& parts, const PartitionTree& query_tree,
                           const PartitionTree& key_tree, std::span<const std::uint8_t> mask) {
  const HaarBasis query(query_tree);
  const HaarBasis key(key_tree);
  DoubleMatrix residual = parts.target;
  for (std::size_t i = 0; i < residual.values().size(); ++i) residual.values()[i] -= parts.second_order.values()[i];
  return {relative_error(parts.target, parts.first_order, mask),
          relative_error(parts.target, parts.second_order, mask),
          fit(g, query, key),
          fit(parts.target, query, key),
          fit(parts.second_order, query, key),
          fit(residual, query, key)};
}

void add_share(Regularity& to, const Regularity& from, double share) {
  to.alpha += from.alpha * share;
  to.low += from.low * share;
  to.high += from.high * share;
  to.bins = from.bins;
}

ParaproductFigures control(const DoubleMatrix& g, const PartitionTree& query, const PartitionTree& key,
                           std::span<const std::uint8_t> mask, const SoftmaxOptions& options, const Context& context) {
  ParaproductFigures mean;
  const double share = 1 / static_cast<double>(options.draws);
  for (std::size_t d = 0; d < options.draws; ++d) {
    const PartitionTree q = shuffled(query, options.seed, 2 * d);
    const PartitionTree k = shuffled(key, options.seed, 2 * d + 1);
    const ParaproductFigures one =
        figures(g, paraproduct(g, q, k, exponential(), {options.boundary, mask}), q, k, mask);
    mean.error_first += one.error_first * share;
    mean.error_second += one.error_second * share;
    add_share(mean.scores, one.scores, share);
    add_share(mean.softmax, one.softmax, share);
    add_share(mean.approximation, one.approximation, share);
    add_share(mean.residual, one.residual, share);
    context.report(static_cast<double>(d + 1) * share);
  }
  return mean;
}

double mean_rand_index(std::span<const LevelAgreement> levels) {
  double sum = 0;
  for (const LevelAgreement& level : levels) sum += level.rand_index;
  return levels.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(levels.size());
}

// The scores of one head, permuted within each row. The draw depends on the head's position in the tensor.
NetworkTensor permuted_map(const NetworkTensor& scores, std::size_t head, std::uint64_t seed) {
  const auto map = scores.map(head);
  const NetworkTensor one = one_map(scores, head, std::vector<double>(map.begin(), map.end()), MapKind::kScores);
  return permute_rows(one, RowPermutation::kRows, seed, head);
}

InvarianceControl analyze_control(const NetworkTensor& scores, std::size_t head, const SoftmaxOptions& options,
                                  const Context& context) {
  const NetworkTensor permuted = permuted_map(scores, head, options.seed);
  const Organization by_scores = organize(permuted, options.questionnaire, context.part(0, 0.5));
  const DoubleMatrix g = log_softmax(permuted, 0);
  const auto mask = permuted.mask(0);
  const Paraproduct parts =
      paraproduct(g, by_scores.query.tree, by_scores.key.tree, exponential(), {options.boundary, mask});
  const Organization by_softmax = organize(one_map(permuted, 0, parts.target.values(), MapKind::kPattern),
                                           options.questionnaire, context.part(0.5, 1));
  return {relative_error(parts.target, parts.first_order, mask), relative_error(parts.target, parts.second_order, mask),
          cophenetic_correlation(by_scores.query.tree, by_softmax.query.tree),
          cophenetic_correlation(by_scores.key.tree, by_softmax.key.tree)};
}

}  // namespace

OrganizationAgreement agreement(const Organization& a, const Organization& b) {
  OrganizationAgreement result;
  result.affinity_query = affinity_correlation(a.query.affinity, b.query.affinity);
  result.affinity_key = affinity_correlation(a.key.affinity, b.key.affinity);
  result.levels_query = level_agreements(a.query.tree, b.query.tree);
  result.levels_key = level_agreements(a.key.tree, b.key.tree);
  result.rand_query = mean_rand_index(result.levels_query);
  result.rand_key = mean_rand_index(result.levels_key);
  result.cophenetic_query = cophenetic_correlation(a.query.tree, b.query.tree);
  result.cophenetic_key = cophenetic_correlation(a.key.tree, b.key.tree);
  return result;
}

DoubleMatrix log_softmax(const NetworkTensor& scores, std::size_t head) {
  const auto map = scores.map(head);
  const auto mask = scores.mask(head);
  DoubleMatrix g(scores.queries(), scores.keys());
  for (std::size_t q = 0; q < scores.queries(); ++q) {
    double largest = -std::numeric_limits<double>::infinity();
    bool any = false;
    const std::size_t begin = q * scores.keys();
    for (std::size_t k = 0; k < scores.keys(); ++k) any = any || is_present(mask, begin + k);
    // A row without present entries has no softmax; all its entries are treated as present.
    const auto counts = [&](std::size_t k) { return !any || is_present(mask, begin + k); };
    for (std::size_t k = 0; k < scores.keys(); ++k) {
      if (counts(k)) largest = std::max(largest, static_cast<double>(map[begin + k]));
    }
    double sum = 0;
    for (std::size_t k = 0; k < scores.keys(); ++k) {
      if (counts(k)) sum += std::exp(static_cast<double>(map[begin + k]) - largest);
    }
    for (std::size_t k = 0; k < scores.keys(); ++k) {
      g(q, k) = static_cast<double>(map[begin + k]) - largest - std::log(sum);
    }
  }
  return g;
}

HeadInvariance softmax_invariance(const NetworkTensor& scores, std::size_t head, const SoftmaxOptions& options,
                                  const Context& context) {
  check(scores, head);
  const auto organize_map = [&](std::span<const double> values, MapKind kind, const Context& part) {
    return organize(one_map(scores, head, values, kind), options.questionnaire, part);
  };
  const auto map = scores.map(head);
  const std::vector<double> f(map.begin(), map.end());
  const auto mask = scores.mask(head);

  const Organization by_scores = organize_map(f, MapKind::kScores, context.part(0, 0.2));
  const PartitionTree& query = by_scores.query.tree;
  const PartitionTree& key = by_scores.key.tree;
  const DoubleMatrix g = log_softmax(scores, head);
  Paraproduct parts = paraproduct(g, query, key, exponential(), {options.boundary, mask});
  const ParaproductFigures found = figures(g, parts, query, key, mask);
  const ParaproductFigures shuffled = control(g, query, key, mask, options, context.part(0.2, 0.3));
  const Organization by_softmax = organize_map(parts.target.values(), MapKind::kPattern, context.part(0.3, 0.5));
  const Organization by_approximation =
      organize_map(parts.second_order.values(), MapKind::kPattern, context.part(0.5, 0.7));

  std::optional<InvarianceControl> permuted;
  if (options.control) permuted = analyze_control(scores, head, options, context.part(0.7, 1));
  context.report(1);

  DoubleMatrix kept(scores.queries(), scores.keys());
  std::copy(f.begin(), f.end(), kept.values().begin());
  return {scores.head_names[head],
          found,
          shuffled,
          permuted,
          agreement(by_scores, by_softmax),
          agreement(by_scores, by_approximation),
          agreement(by_softmax, by_approximation),
          query,
          key,
          std::move(kept),
          std::move(parts)};
}

}  // namespace headscope
