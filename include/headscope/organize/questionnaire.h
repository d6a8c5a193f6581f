#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/organize/tree_distance.h"
#include "headscope/tree/binary_tree.h"
#include "headscope/tree/flexible_tree.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

enum class TreeKind { kFlexible, kBinary };

/// The most iterations that the commands accept. Trees settle within ten or so.
inline constexpr std::size_t kMaxIterations = 1000000;

struct QuestionnaireOptions {
  std::size_t iterations = 3;
  FolderWeightOptions weights = {};  ///< Defaults: alpha = 0, beta = 1.
  double epsilon = 1;                ///< Scale of the affinity exp(-EMD / (epsilon * median)).
  TreeKind tree = TreeKind::kFlexible;
  FlexibleTreeOptions flexible = {};
  BinaryTreeOptions binary = {};
  /// Initial trees, used instead of those built from cosines.
  std::optional<PartitionTree> query_start = {};
  std::optional<PartitionTree> key_start = {};
  /// Stops before `iterations` if the relative change of the score between two iterations is at most this.
  std::optional<double> stop_below = {};
  /// Computes `Organization::scores`. They take a few percent of the time; `stop_below` needs them.
  bool keep_scores = true;

  /// The settings of the published runs on a single matrix: alpha = 1, beta = 0, 10 iterations.
  [[nodiscard]] static QuestionnaireOptions for_one_map();
};

/// The organization of one axis.
struct AxisOrganization {
  PartitionTree tree;
  DoubleMatrix affinity;  ///< The affinity that the tree was built from.
};

struct Organization {
  AxisOrganization head;
  AxisOrganization query;
  AxisOrganization key;
  /// Score after each iteration: the sum of magnitudes of all Haar coefficients. Smaller means that the trees fit
  /// better. Not an objective: no step minimizes it, and it may rise. Empty without `keep_scores`.
  std::vector<double> scores;
  bool stopped_early = false;
  std::vector<std::string> notes;

  [[nodiscard]] const AxisOrganization& axis(TensorAxis axis) const noexcept {
    return axis == TensorAxis::kHead ? head : axis == TensorAxis::kQuery ? query : key;
  }
};

/// Returns affinities exp(-d / (epsilon * median)). The median is over the whole matrix, diagonal included (for an even
/// number of entries, the mean of the middle two). If it is zero, because more than half of the entries are, the median
/// of the nonzero entries is used. If all entries are zero, all affinities are 1.
///
/// \throws Error  kInvalidArgument if epsilon is not a positive number.
[[nodiscard]] DoubleMatrix distance_affinity(const DoubleMatrix& distances, double epsilon = 1);

/// The questionnaire (OA, arXiv 2506.15541): organizes heads, queries and keys, each by the trees of the others.
///
/// Queries and keys start with trees built from their cosines (`cosine_affinity`). Each iteration then rebuilds the
/// head tree from distances between maps under the query and key trees, the query tree under the key and head trees,
/// and the key tree under the query and head trees. Each new tree is used immediately. Distances come from
/// `SliceDistances::compute`.
///
/// For a tensor with one head, only queries and keys are organized, queries first; the head tree has one element.
///
/// Distances are computed by `context.tree_distance`, or on the CPU if it is null. The prepared copies of the tensor,
/// one per axis, count against the memory budget. If all three do not fit, they are built one at a time, again in every
/// iteration.
///
/// Collective over the ranks of the tensor's share; `context.ranks` is not used. Distances, cosines and scores, which
/// depend on the maps, are distributed over the ranks. Each tree is built on one rank and broadcast. Every rank gets
/// the same bits as a single-rank run.
///
/// Cost: distances as in `cpu_tree_distance`, plus O(n^3) per tree. The result does not depend on the number of
/// threads.
///
/// \throws Error  kInvalidArgument if `iterations` is 0, an option for trees or weights is invalid, or the size of an
///                initial tree does not match the tensor; kResource if the copy for one axis needs more than the
///                budget.
[[nodiscard]] Organization organize(const TensorShare& tensor, const QuestionnaireOptions& options = {},
                                    const Context& context = {});

}  // namespace headscope
