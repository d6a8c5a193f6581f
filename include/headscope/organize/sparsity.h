#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headscope/organize/regularity.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// How few Haar coefficients c hold a function. The constant's coefficient is left out of all but `entropy`.
///
/// Magnitudes that agree to seven bits (0.8 %) count as equal where coefficients are ranked.
struct SparsityFigures {
  double l1 = 0;         ///< ||c||_1 / ||c||_2: between 1, one coefficient, and sqrt(their number). Scale-free.
  double needed_99 = 0;  ///< Coefficients that hold 99 % of the energy, as a share of all.
  double top_001 = 0;    ///< Share of the energy in the largest 0.1 % of the coefficients (one at least); the
  double top_01 = 0;     ///< largest 1 %;
  double top_10 = 0;     ///< the largest 10 %.
  double error_01 = 0;   ///< ||x - x_k|| / ||x - mean x|| of the best reconstruction from 1 % of the coefficients;
  double error_10 = 0;   ///< from 10 %.
  double entropy = 0;    ///< The "l1 entropy" of OA: sum of |c| over the coefficients of largest support, the
                         ///< constant included. Grows with the scale of the values; for comparison.
  double alpha = 0;      ///< `Regularity::alpha`.
};
/// Names of the figures and their values, in the same order.
[[nodiscard]] std::span<const char* const> sparsity_names() noexcept;
[[nodiscard]] std::vector<double> as_list(const SparsityFigures& figures);

/// One point of the decay curve: the magnitude at a rank, over ||c||_2.
struct DecayPoint {
  std::size_t rank = 0;  ///< From 1.
  double found = 0;
  double shuffled = 0;  ///< Mean over the draws.
};

/// The figures under the trees, and what they are under shuffled ones.
struct SparsityRow {
  std::string name;  ///< A head's, or "network".
  SparsityFigures found;
  double alpha_low = 0;  ///< 95 % interval of the fit.
  double alpha_high = 0;
  SparsityFigures mean;  ///< Over the draws of shuffled trees;
  SparsityFigures low;   ///< where another draw lies with 95 %: mean +- t s sqrt(1 + 1/draws).
  SparsityFigures high;
  std::vector<DecayPoint> decay;

  /// l1 under shuffled trees over l1 under these.
  [[nodiscard]] double gain() const noexcept { return found.l1 > 0 ? mean.l1 / found.l1 : 1; }
  /// Whether that is more than chance and more than what trees fitted to noise gain: l1 is below the interval of
  /// shuffled trees, and by 10 % at least.
  [[nodiscard]] bool gains() const noexcept { return found.l1 < low.l1 && gain() >= 1.1; }
};

struct SparsityOptions {
  std::size_t draws = 8;  ///< Of shuffled trees; at least 2.
  std::uint64_t seed = 0;
  std::size_t entropy_terms = 100;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};
};

struct Sparsity {
  std::vector<SparsityRow> heads;  ///< Bi-Haar: query x key.
  SparsityRow network;             ///< Tri-Haar: query x key x head.
};

/// Sparsity and regularity of every head and of the network in the Haar bases of the trees, beside those of the same
/// trees with their elements shuffled: what the organization gains. Absent entries are as in `filled_values`.
///
/// All ranks call it. Heads are measured where they are; for the network, all heads of some positions come to one rank.
/// Rank 0 gets the result, the same bits on any number of ranks and threads; the others get no heads and an empty row.
///
/// Cost: O(size / ranks) for the trees and for each draw, and as much to exchange; memory twice the rank's share of the
/// tensor, and with several ranks what is under way between them, some 50 MB.
///
/// \throws Error  kInvalidArgument if a tree does not fit the tensor, or there are fewer than two draws.
[[nodiscard]] Sparsity measure_sparsity(const TensorShare& tensor, const PartitionTree& head,
                                        const PartitionTree& query, const PartitionTree& key,
                                        const SparsityOptions& options = {});

}  // namespace headscope
