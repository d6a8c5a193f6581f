#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/organize/tree_distance.h"
#include "headscope/tree/binary_tree.h"
#include "headscope/tree/flexible_tree.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

enum class TreeKind { kFlexible, kBinary };

struct QuestionnaireOptions {
  std::size_t iterations = 3;
  FolderWeightOptions weights = {};  ///< alpha = 0, beta = 1.
  double epsilon = 1;                ///< Of the affinity exp(-EMD / (epsilon * median)).
  TreeKind tree = TreeKind::kFlexible;
  FlexibleTreeOptions flexible = {};
  BinaryTreeOptions binary = {};
  /// Trees to begin with, in place of those of the cosines.
  std::optional<PartitionTree> query_start = {};
  std::optional<PartitionTree> key_start = {};
  /// Ends before `iterations` if the score changes by no more than this share from one to the next.
  std::optional<double> stop_below = {};
  /// Bytes that the copies of the tensor may take. Where all three at once are more, they are made one at a
  /// time, again for every iteration.
  std::size_t memory = std::size_t{4} << 30;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};

  /// What the published runs use for one matrix: alpha = 1, beta = 0, 10 iterations.
  [[nodiscard]] static QuestionnaireOptions for_one_map();
};

/// One axis, organized.
struct AxisOrganization {
  PartitionTree tree;
  DoubleMatrix affinity;  ///< The one the tree was made from.
};

struct Organization {
  AxisOrganization head;
  AxisOrganization query;
  AxisOrganization key;
  /// After each iteration, the sum of the magnitudes of all Haar coefficients: the smaller, the better the trees fit.
  std::vector<double> scores;
  bool stopped_early = false;
  std::vector<std::string> notes;

  [[nodiscard]] const AxisOrganization& axis(TensorAxis axis) const noexcept {
    return axis == TensorAxis::kHead ? head : axis == TensorAxis::kQuery ? query : key;
  }
};

/// Affinities exp(-d / (epsilon * median)), the median over the whole matrix, diagonal included (of an even number of
/// entries: the mean of the two in the middle). If it is zero, more than half of the entries being so, it is the median
/// of the others; if there are none, all affinities are 1.
///
/// \throws Error  kInvalidArgument if epsilon is not a positive number.
[[nodiscard]] DoubleMatrix distance_affinity(const DoubleMatrix& distances, double epsilon = 1);

/// The questionnaire (OA, arXiv 2506.15541): organizes heads, queries and keys by each other.
///
/// Queries and keys begin with the trees of their cosines (`cosine_affinity`). Then, every iteration: heads by the
/// distances their maps have under the trees of queries and keys; queries by those of keys and heads; keys by those of
/// queries and heads; each tree is used as soon as it is there. Distances are `SliceDistances::compute`.
///
/// A tensor of one head is organized in its two other axes, queries first; the head has the tree of one element.
///
/// Ranks share what depends on the maps: distances, cosines and scores. Each makes all trees, which takes a small part
/// of the time. All of them call it and get the bits that one rank alone would have.
///
/// Cost: distances as `cpu_tree_distance` says, trees O(n^3) each. Does not depend on the number of threads.
///
/// \throws Error  kInvalidArgument if there are no iterations, an option of trees or weights makes no sense, or a tree
/// to
///                begin with does not fit the tensor; kResource if one copy of the tensor is more than `memory`.
[[nodiscard]] Organization organize(const TensorShare& tensor, const QuestionnaireOptions& options = {},
                                    const TreeDistance& engine = *cpu_tree_distance());

}  // namespace headscope
