#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/organize/regularity.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// How few Haar coefficients c represent a function. The coefficient of the constant is excluded from all figures
/// except `entropy`.
///
/// In rankings, magnitudes that agree to seven bits (0.8%) count as equal.
struct SparsityFigures {
  double l1 = 0;         ///< ||c||_1 / ||c||_2: from 1 (one coefficient) to sqrt(their number). Scale-free.
  double needed_99 = 0;  ///< Fraction of coefficients that hold 99% of the energy.
  double top_001 = 0;    ///< Fraction of the energy in the largest 0.1% of the coefficients (at least one),
  double top_01 = 0;     ///< in the largest 1%,
  double top_10 = 0;     ///< in the largest 10%.
  double error_01 = 0;   ///< ||x - x_k|| / ||x - mean x|| of the best reconstruction from 1% of the coefficients,
  double error_10 = 0;   ///< from 10%.
  double entropy = 0;    ///< The "l1 entropy" of OA: sum of |c| over the coefficients of largest support, including the
                         ///< constant. Scales with the values; for comparison.
  double alpha = 0;      ///< `Regularity::alpha`.
};
/// The names of the figures, and their values in the same order.
[[nodiscard]] std::span<const char* const> sparsity_names() noexcept;
[[nodiscard]] std::vector<double> as_list(const SparsityFigures& figures);

/// One point of the decay curve: the magnitude at a rank, divided by ||c||_2.
struct DecayPoint {
  std::size_t rank = 0;  ///< Starts at 1.
  double found = 0;
  double shuffled = 0;  ///< Mean over the draws.
};

/// Figures under the given trees and under shuffled trees.
struct SparsityRow {
  std::string name;  ///< Head name, or "network".
  SparsityFigures found;
  SparsityFigures mean;  ///< Mean over the shuffled trees.
  SparsityFigures low;   ///< 95% prediction interval for another draw: mean +- t s sqrt(1 + 1/draws).
  SparsityFigures high;
  std::vector<DecayPoint> decay;

  /// l1 under shuffled trees divided by l1 under the given trees. Not a test of structure: trees fitted to random
  /// causal maps gain 1.15 to 1.37, from the mask alone. See sparsity_control.h.
  [[nodiscard]] double gain() const noexcept { return found.l1 > 0 ? mean.l1 / found.l1 : 1; }
};

/// Figures under one set of trees.
struct SparsityValues {
  std::vector<SparsityFigures> heads;
  SparsityFigures network;
};

struct SparsityOptions {
  std::size_t draws = 4;  ///< Number of shuffled trees; at least 2.
  std::uint64_t seed = 0;
  std::size_t entropy_terms = 100;
};

struct Sparsity {
  std::vector<SparsityRow> heads;  ///< Bi-Haar: query x key.
  SparsityRow network;             ///< Tri-Haar: query x key x head.
};

/// Measures sparsity and regularity of every head and of the network in the Haar bases of the trees, and compares them
/// with the same trees with shuffled elements: what the organization gains. Absent entries are filled as in
/// `filled_values`.
///
/// Collective over the ranks of the tensor's share; `context.ranks` is not used. Heads are measured on the rank that
/// owns them. For the network, an all-to-all exchange brings all heads of a range of positions to one rank. Rank 0 gets
/// the result, with the same bits for any number of ranks and threads; other ranks get nothing. The result for a tensor
/// that is on one rank is always set.
///
/// Cost: O(size / ranks) work and communication for the trees and for each draw. Memory, which the
/// caller counts: twice the rank's share of the tensor, plus about 50 MB of buffers in flight with several ranks.
///
/// \throws Error  kInvalidArgument if the size of a tree does not match the tensor, or there are fewer than two draws.
[[nodiscard]] std::optional<Sparsity> measure_sparsity(const TensorShare& tensor, const PartitionTree& head,
                                                       const PartitionTree& query, const PartitionTree& key,
                                                       const SparsityOptions& options = {},
                                                       const Context& context = {});

/// Computes the figures under the given trees alone. Collective like `measure_sparsity`; rank 0 gets the result, other
/// ranks get an empty one.
///
/// \throws Error  kInvalidArgument if the size of a tree does not match the tensor.
[[nodiscard]] SparsityValues measure_figures(const TensorShare& tensor, const PartitionTree& head,
                                             const PartitionTree& query, const PartitionTree& key,
                                             std::size_t entropy_terms = 100);

}  // namespace headscope
