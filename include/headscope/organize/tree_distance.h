#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/tree/folder_weights.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

class TensorShare;
enum class TensorAxis : std::size_t;

/// View of a tensor as slices of rows x columns: entry (row, column) of slice s is values[s * slice_stride + row *
/// row_stride + column * column_stride].
struct TensorSlices {
  const float* values = nullptr;
  std::size_t slices = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t slice_stride = 0;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;

  /// 1 where an entry is present, 0 where it is absent, with its own strides (0 along an axis it does not depend on).
  /// Null: all entries are present.
  const std::uint8_t* present = nullptr;
  std::size_t present_slice_stride = 0;
  std::size_t present_row_stride = 0;
  std::size_t present_column_stride = 0;
};

/// How an absent entry enters the mean of a folder.
enum class AbsentEntries {
  kZero,     ///< As a zero: no attention is zero attention.
  kLeftOut,  ///< Not at all: the mean is over present entries.
};

/// Distances between the slices of one tensor, for any trees on their rows and columns.
class SliceDistances {
 public:
  virtual ~SliceDistances() = default;

  /// EMD(s, t) = sum over folders I of the rows and J of the columns, leaves included, of
  ///
  ///     w_I w_J |mean(s over I x J) - mean(t over I x J)|,   w as in `FolderWeightOptions`
  ///
  /// (OA, arXiv 2506.15541). With `kLeftOut` a term counts for a pair of slices only if both have a present entry in I
  /// x J: a folder that one of them lacks says nothing about how they differ. Symmetric, zero diagonal; equal slices
  /// have distance exactly 0.
  ///
  /// Of the context, only progress and cancellation are used: ranks, memory and device were chosen by `bind`.
  [[nodiscard]] virtual DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                             const FolderWeightOptions& weights, const Context& context) const = 0;
};

/// Computes tree distances: the hot loop of the questionnaire. The CPU implementation is below; a device can implement
/// the same interface.
class TreeDistance {
 public:
  virtual ~TreeDistance() = default;

  /// Prepares the slices. Their values need not outlive the call.
  [[nodiscard]] virtual std::unique_ptr<SliceDistances> bind(const TensorSlices& slices,
                                                             AbsentEntries absent) const = 0;
  /// Prepares the slices of a tensor along an axis. Collective, as is `compute`, which must be called with the same
  /// trees on all ranks; every rank gets the same bits as a single-rank run. The share must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<SliceDistances> bind(const TensorShare& share, TensorAxis axis) const = 0;
  /// Bytes that `bind` and `compute` need on this rank. Collective.
  [[nodiscard]] virtual std::size_t bytes(const TensorShare& share, TensorAxis axis) const = 0;
};

/// Implementation on the CPU.
///
/// Folder sums are built in two passes of tree addition and consumed in batches of a few megabytes, so the features, up
/// to four times the size of the tensor, are never all in memory. What is stored is one copy of the tensor in panels of
/// 32 interleaved slices, plus a second copy for presence if that differs between slices.
///
/// Distances are computed as sum |x - y| = 2 sum max(x, y) - sum x - sum y, with the last two sums accumulated in the
/// same order by the same instructions as the first. This takes half the time of the direct form; its rounding error is
/// about 1e-7 of the sums of features, not of the distance. (For this reason, what many slices have in common is
/// subtracted from all of them first.) Features are float, and so are sums of about 300 of them; these are converted to
/// integers (`FixedPoint`) and added exactly. The result therefore does not depend on the number of threads or ranks.
///
/// Cost for N slices and F_r, F_c distinct folders (fewer than 2 * rows and 2 * columns): N^2 / 2 * F_r F_c maxima and
/// additions.
///
/// With several ranks, the column folders are distributed. Each rank computes the column sums of its own heads,
/// receives those of all heads for its own folders, and compares all slices in these features: its share of all work
/// and of the memory. Per call of `compute`, each rank sends and receives up to twice its part of the tensor, a few
/// megabytes at a time, overlapped with computation.
[[nodiscard]] std::unique_ptr<TreeDistance> cpu_tree_distance();

}  // namespace headscope
