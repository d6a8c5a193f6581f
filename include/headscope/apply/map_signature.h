#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// Shape of a tree, independent of its elements. A folder that is not split from one level to the next counts once.
struct TreeShape {
  /// Mean number of splits between the root and an element, divided by log2 of the number of elements: 1 if every split
  /// halves, less if folders are split into many parts at once, more if single elements are split off. 0 for one
  /// element.
  double depth = 0;
  double branching = 0;  ///< Mean number of parts that a folder is split into.
  /// Mean over split folders, weighted by size, of -sum p ln p / ln(parts), where p are the fractions of the parts: 1
  /// if all parts have the same size.
  double balance = 0;
};
[[nodiscard]] TreeShape tree_shape(const PartitionTree& tree);

/// A number, or a curve sampled at fixed points, that can be compared between networks of any size.
struct SignatureFeature {
  std::string name;            ///< "alpha", "decay", "head spectrum", ...
  std::vector<double> x;       ///< Sample points of a curve; empty for a single number.
  std::vector<double> values;  ///< NaN where undefined.
};

/// The features of a network on one input, and the organization they were computed from.
struct MapSignature {
  std::vector<SignatureFeature> features;
  Organization organization;
};

struct SignatureOptions {
  QuestionnaireOptions questionnaire = {};
  std::size_t draws = 4;  ///< Number of shuffled trees, for `gain`; at least 2.
  std::uint64_t seed = 0;
};

/// Describes the organization of a network's maps on one input (OA, arXiv 2506.15541) by features that do not depend on
/// scale and depend as little as possible on the numbers of heads and tokens:
///
/// - `decay`: log10 of the tri-Haar coefficient at fraction x of the sorted order, divided by the root mean square of
///   all coefficients, for x from 0.1 % to 50 %; values below 1e-4 are clamped to 1e-4.
/// - `l1`: ||c||_1 / ||c||_2 divided by the square root of the number of coefficients. `gain`: l1 under shuffled trees
///   divided by l1 under these trees. `alpha`: the fitted regularity exponent. `needed_99`: the fraction of
///   coefficients that holds 99 % of the energy.
/// - for every axis: `depth`, `branching` and `balance` of its tree, and `spectrum`: the magnitudes of the 8 leading
///   eigenvalues of its Markov matrix after the first, padded with zeros.
///
/// All tensors have the same features in the same order, except that an axis of extent 1 (a single head) has none.
/// What counts against the memory budget is as in `organize`. Not collective.
/// \throws Error  as `organize` and `measure_sparsity`.
[[nodiscard]] MapSignature map_signature(const NetworkTensor& tensor, const SignatureOptions& options = {},
                                         const Context& context = {});

}  // namespace headscope
