#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headscope/organize/network_tensor.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// How a tree is made, whatever it is on. A folder that stays whole from one level to the next counts once.
struct TreeShape {
  /// Mean number of cuts between the root and an element, over log2 of the number of elements: 1 for halves throughout,
  /// less where folders are cut into many at once, more where single elements are split off. 0 for one element.
  double depth = 0;
  double branching = 0;  ///< Mean number of parts a folder is cut into.
  /// Mean over folders that are cut, weighted by their size, of -sum p ln p / ln(parts), p the shares of the parts: 1
  /// where all parts have the same size.
  double balance = 0;
};
[[nodiscard]] TreeShape tree_shape(const PartitionTree& tree);

/// A figure, or a curve at fixed places, that can be compared between networks of any size.
struct SignatureFeature {
  std::string name;            ///< "alpha", "decay", "head spectrum", ...
  std::vector<double> x;       ///< Where a curve was taken; empty for a single figure.
  std::vector<double> values;  ///< NaN where it is not defined.
};

/// The figures of a network on one input, and the organization they were read off.
struct MapSignature {
  std::vector<SignatureFeature> features;
  Organization organization;
};

struct SignatureOptions {
  QuestionnaireOptions questionnaire = {};
  std::size_t draws = 4;  ///< Of shuffled trees, for `gain`; at least 2.
  std::uint64_t seed = 0;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};
};

/// What the organization of a network's maps on one input looks like (OA, arXiv 2506.15541), in figures that do not
/// depend on scale and as little as possible on the numbers of heads and tokens:
///
/// - `decay`: log10 of the tri-Haar coefficient at a share x of their sorted order, over their root mean square, for x
///   from 0.1 % to 50 %; values below 1e-4 count as that.
/// - `l1`: ||c||_1 / ||c||_2 over the square root of their number. `gain`: l1 under shuffled trees over that under
/// these.
///   `alpha`: the fitted exponent of regularity. `needed_99`: the share that holds 99 % of the energy.
/// - for every axis: `depth`, `branching`, `balance` of its tree, and `spectrum`: the 8 leading eigenvalues of its
/// Markov
///   matrix next to the first, in magnitude, 0 where there are fewer.
///
/// Features are the same, in the same order, for every tensor of more than one head; of one head those of its axis are
/// left out. \throws Error  as `organize` and `measure_sparsity`.
[[nodiscard]] MapSignature map_signature(const NetworkTensor& tensor, const SignatureOptions& options = {});

}  // namespace headscope
