#include "headscope/apply/map_signature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headscope/organize/sparsity.h"
#include "headscope/tree/diffusion_map.h"

namespace headscope {
namespace {

constexpr std::array<double, 9> kShares = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5};
constexpr std::size_t kEigenvalues = 8;
constexpr double kSmallest = 1e-4;  // relative to the root mean square

// The decay curve at fixed fractions of its length, interpolated linearly in log-log scale.
std::vector<double> decay_at_shares(const std::vector<DecayPoint>& decay, double coefficients) {
  const auto height = [&](const DecayPoint& point) {
    return std::log10(std::max(point.found * std::sqrt(coefficients), kSmallest));
  };
  std::vector<double> values;
  for (const double share : kShares) {
    const double rank = std::max(1.0, share * coefficients);
    const auto above =
        std::ranges::find_if(decay, [&](const DecayPoint& point) { return static_cast<double>(point.rank) >= rank; });
    if (above == decay.end()) {
      values.push_back(decay.empty() ? std::nan("") : height(decay.back()));
    } else if (above == decay.begin()) {
      values.push_back(height(*above));
    } else {
      const DecayPoint& below = *(above - 1);
      const double from = std::log(static_cast<double>(below.rank));
      const double to = std::log(static_cast<double>(above->rank));
      const double part = (std::log(rank) - from) / (to - from);
      values.push_back((1 - part) * height(below) + part * height(*above));
    }
  }
  return values;
}

std::vector<double> spectrum(const DoubleMatrix& affinity) {
  DiffusionMapOptions options;
  options.dimensions = kEigenvalues;
  std::vector<double> values = diffusion_map(affinity, options).spectrum;
  values.resize(kEigenvalues);
  for (double& value : values) value = std::abs(value);
  return values;
}

void add_axis(TensorAxis axis, const AxisOrganization& organized, std::vector<SignatureFeature>& features) {
  const std::string name(to_string(axis));
  const TreeShape shape = tree_shape(organized.tree);
  features.push_back({name + " depth", {}, {shape.depth}});
  features.push_back({name + " branching", {}, {shape.branching}});
  features.push_back({name + " balance", {}, {shape.balance}});
  std::vector<double> ranks;
  for (std::size_t k = 1; k <= kEigenvalues; ++k) ranks.push_back(static_cast<double>(k));
  features.push_back({name + " spectrum", ranks, spectrum(organized.affinity)});
}

}  // namespace

TreeShape tree_shape(const PartitionTree& tree) {
  TreeShape shape;
  if (tree.size() < 2) return shape;
  double cuts = 0;      // folders that are split
  double parts = 0;     // parts that they are split into
  double elements = 0;  // sum of their sizes: each element counts once per split above it
  double balance = 0;
  for (std::size_t level = 0; level + 1 < tree.level_count(); ++level) {
    const auto children = tree.folders(level + 1);
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      if (folder.child_count() < 2) continue;
      const auto size = static_cast<double>(folder.size());
      const auto count = static_cast<double>(folder.child_count());
      double entropy = 0;
      for (std::size_t c = folder.children_begin; c < folder.children_end; ++c) {
        const double share = static_cast<double>(children[c].size()) / size;
        entropy -= share * std::log(share);
      }
      cuts += 1;
      parts += count;
      elements += size;
      balance += size * entropy / std::log(count);
    }
  }
  const auto n = static_cast<double>(tree.size());
  shape.depth = elements / n / std::log2(n);
  shape.branching = parts / cuts;
  shape.balance = balance / elements;
  return shape;
}

MapSignature map_signature(const NetworkTensor& tensor, const SignatureOptions& options, const Context& context) {
  constexpr double kQuestionnaire = 0.8;  // approximate share of the time
  Organization organization = organize(tensor, options.questionnaire, context.part(0, kQuestionnaire));
  SparsityOptions sparsity;
  sparsity.draws = options.draws;
  sparsity.seed = options.seed;
  const SparsityRow network = measure_sparsity(tensor, organization.head.tree, organization.query.tree,
                                               organization.key.tree, sparsity, context.part(kQuestionnaire, 1))
                                  .value()
                                  .network;

  const double coefficients = std::max(1.0, static_cast<double>(tensor.values.size()) - 1);
  std::vector<SignatureFeature> features;
  features.push_back({"decay", {kShares.begin(), kShares.end()}, decay_at_shares(network.decay, coefficients)});
  features.push_back({"l1", {}, {network.found.l1 / std::sqrt(coefficients)}});
  features.push_back({"needed_99", {}, {network.found.needed_99}});
  features.push_back({"gain", {}, {network.gain()}});
  features.push_back({"alpha", {}, {network.found.alpha}});
  for (const TensorAxis axis : kTensorAxes) {
    if (tensor.extents[static_cast<std::size_t>(axis)] > 1) add_axis(axis, organization.axis(axis), features);
  }
  return {std::move(features), std::move(organization)};
}

}  // namespace headscope
