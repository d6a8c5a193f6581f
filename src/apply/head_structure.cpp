#include "headscope/apply/head_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/model/network.h"
#include "headscope/organize/sparsity.h"

namespace headscope {
namespace {

// The maps, a copy as a tensor, one for the coefficients, and three for distances.
constexpr std::size_t kCopies = 6;

// Bytes per pair of tokens or heads: affinities, distances, a tree being built.
constexpr std::size_t kPerPair = 80;

std::size_t pair_bytes(std::size_t heads, std::size_t tokens) {
  return saturating_multiply(std::max(saturating_multiply(heads, heads), saturating_multiply(tokens, tokens)),
                             kPerPair);
}

void check_memory(std::size_t heads, std::size_t tokens, const Context& context) {
  const std::size_t maps = saturating_multiply(saturating_multiply(tokens, tokens), heads * kCopies * sizeof(float));
  require_memory(context, saturating_add(maps, pair_bytes(heads, tokens)),
                 fmt::format("organizing the maps of {} heads on {} tokens (--max-tokens)", heads, tokens));
}

MaskChoice mask_of(const Model& model) {
  MaskChoice mask;
  const Network network = resolve_network(model);
  const bool windows = std::ranges::any_of(
      network.layers, [](const NetworkLayer& layer) { return layer.window > 0 || layer.chunk > 0; });
  // Entries hidden by a window are exactly zero.
  if (model.info().causal) mask.kind = windows ? MaskChoice::Kind::kZeros : MaskChoice::Kind::kCausal;
  return mask;
}

NetworkTensor patterns(const Model& model, const ModelInput& input, std::size_t tokens, std::size_t skip_first,
                       const Context& context) {
  const HeadSizes& sizes = model.info().sizes;
  const std::size_t heads = sizes.layers * sizes.heads;
  std::vector<float> maps(heads * tokens * tokens);
  ForwardOptions pass;
  pass.on_pattern = [&](const MapRows& rows) {
    const std::size_t head = rows.layer * sizes.heads + rows.head;
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      float* row = maps.data() + (head * tokens + rows.first_query + i) * tokens;
      for (std::size_t j = 0; j < tokens; ++j) row[j] = rows.values(i, j);
    }
  };
  run_forward(model, std::span(&input, 1), pass, context);
  NetworkTensorOptions tensor;
  tensor.mask = mask_of(model);
  tensor.heads_per_layer = sizes.heads;
  tensor.skip_first = skip_first;
  return make_network_tensor(maps, Shape{heads, tokens, tokens}, tensor, model.checkpoint().path().string());
}

// Adds weight * the fraction of the elements in the smallest folder that contains both.
void add_tree_distances(const PartitionTree& tree, double weight, DoubleMatrix& sum) {
  const auto n = static_cast<double>(tree.size());
  DoubleMatrix distance(tree.size(), tree.size());
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      for (const std::size_t i : tree.elements(folder)) {
        for (const std::size_t j : tree.elements(folder)) {
          distance(i, j) = i == j ? 0 : static_cast<double>(folder.size()) / n;
        }
      }
    }
  }
  for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += weight * distance.values()[i];
}

}  // namespace

HeadStructure measure_head_structure(const Model& model, std::span<const ModelInput> inputs,
                                     const HeadStructureOptions& options, const Context& context) {
  if (inputs.empty())
    throw Error(ErrorKind::kInvalidArgument, "no inputs, expected at least one to organize the heads by");
  inputs = inputs.first(std::min(inputs.size(), options.max_inputs));
  const std::size_t heads = model.info().sizes.layers * model.info().sizes.heads;
  std::vector<std::size_t> tokens;
  for (const ModelInput& input : inputs) {
    tokens.push_back(token_count(model, input));
    check_memory(heads, tokens.back(), context);
  }
  HeadStructure result{inputs.size(), std::vector<double>(heads), DoubleMatrix(heads, heads),
                       DoubleMatrix(heads, heads)};
  const double weight = 1 / static_cast<double>(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Context part = context.part(static_cast<double>(k) * weight, static_cast<double>(k + 1) * weight);
    const NetworkTensor tensor =
        patterns(model, inputs[k], tokens[k], options.skip_first,
                 part.without_memory(heads * tokens[k] * tokens[k] * sizeof(float)).part(0, 0.1));
    const Context beside =
        part.without_memory(3 * heads * tokens[k] * tokens[k] * sizeof(float) + pair_bytes(heads, tokens[k]));
    const Organization organization = organize(tensor, options.questionnaire, beside.part(0.1, 0.9));
    SparsityOptions sparsity;
    sparsity.draws = 2;  // the minimum; the results for shuffled trees are not used
    const Sparsity measured = measure_sparsity(tensor, organization.head.tree, organization.query.tree,
                                               organization.key.tree, sparsity, part.part(0.9, 1))
                                  .value();
    const double largest = std::sqrt(static_cast<double>(tensor.map_size() - 1));
    for (std::size_t h = 0; h < heads; ++h) result.information[h] += weight * measured.heads[h].found.l1 / largest;
    add_tree_distances(organization.head.tree, weight, result.tree_distance);
    const std::span<const double> affinity = organization.head.affinity.values();
    for (std::size_t i = 0; i < affinity.size(); ++i) {
      // An affinity that underflowed counts as the largest representable distance.
      result.distance.values()[i] -= weight * std::log(std::max(affinity[i], 1e-300));
    }
  }
  return result;
}

}  // namespace headscope
