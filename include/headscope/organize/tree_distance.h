#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "headscope/base/matrix.h"
#include "headscope/tree/folder_weights.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

class TensorShare;
enum class TensorAxis : std::size_t;

/// A tensor seen as slices of rows x columns: entry (row, column) of slice s is
/// values[s * slice_stride + row * row_stride + column * column_stride].
struct TensorSlices {
  const float* values = nullptr;
  std::size_t slices = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t slice_stride = 0;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;

  /// 1 where an entry is present, 0 where not, with strides of its own (0 along an axis on which it does not depend).
  /// Null: everything is present.
  const std::uint8_t* present = nullptr;
  std::size_t present_slice_stride = 0;
  std::size_t present_row_stride = 0;
  std::size_t present_column_stride = 0;
};

/// What an absent entry is in the mean of a folder.
enum class AbsentEntries {
  kZero,     ///< A zero among the others: no attention is attention zero.
  kLeftOut,  ///< Nothing: the mean is over what is present.
};

/// Distances between the slices of one tensor, for whatever trees on their rows and columns.
class SliceDistances {
 public:
  virtual ~SliceDistances() = default;

  /// EMD(s, t) = sum over folders I of the rows and J of the columns, leaves included, of
  ///
  ///     w_I w_J |mean(s over I x J) - mean(t over I x J)|,   w as in `FolderWeightOptions`
  ///
  /// (OA, arXiv 2506.15541). With `kLeftOut` a term counts for a pair of slices only if both have something present in
  /// I x J: a folder that one of them does not have says nothing about how they differ. Symmetric, zero diagonal;
  /// slices that are equal have distance exactly 0.
  ///
  /// `progress` is called now and then from the calling thread with the share that is done; may throw to stop.
  [[nodiscard]] virtual DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                             const FolderWeightOptions& weights,
                                             const std::function<void(double)>& progress) const = 0;
};

/// Computes tree distances: the hot loop of the questionnaire. The CPU implements it here; a device implements the
/// same.
class TreeDistance {
 public:
  virtual ~TreeDistance() = default;

  /// Prepares the slices; their values need not outlive the call.
  [[nodiscard]] virtual std::unique_ptr<SliceDistances> bind(const TensorSlices& slices,
                                                             AbsentEntries absent) const = 0;
  /// The slices of a tensor along an axis. Where ranks share it all of them call this, and then `compute` with the same
  /// trees, which gives all of them the bits that one rank alone would have. The share must outlive what is returned.
  [[nodiscard]] virtual std::unique_ptr<SliceDistances> bind(const TensorShare& share, TensorAxis axis) const = 0;
  /// Bytes that this will take on this rank, with what `compute` needs beside it. All ranks call it.
  [[nodiscard]] virtual std::size_t bytes(const TensorShare& share, TensorAxis axis) const = 0;
};

/// On this machine's processors.
///
/// Sums over folders are made in two passes of tree addition and consumed in batches of a few megabytes, so that the
/// features, up to four times the tensor, never exist at once. What is kept is one copy of the tensor in
/// panels of 32 slices side by side; a second one of the presence where that differs between slices.
///
/// Distances come from sum |x - y| = 2 sum max(x, y) - sum x - sum y, with the last two summed in the same order
/// by the same instructions as the first: half the time of the direct form, at a rounding error of about 1e-7 of the
/// sums of features, not of the distance. (So what many slices have in common is subtracted from all beforehand.)
/// Features are float, sums over some 300 of them float; those become integers (`FixedPoint`) and are added up exactly.
/// So the result does not depend on the number of threads or ranks.
///
/// Cost for N slices, F_r and F_c distinct folders (below 2 rows and 2 columns): N^2 / 2 * F_r F_c maxima and
/// additions.
///
/// Ranks share the folders of the columns. Each makes the sums over columns of its own heads, gets those of all heads
/// for its own folders, and compares all slices in these features: a share of all work and of the memory. Every rank
/// sends and receives up to twice its part of the tensor for each call of `compute`, some megabytes at a time while it
/// computes.
[[nodiscard]] std::unique_ptr<TreeDistance> cpu_tree_distance();

}  // namespace headscope
