#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/row_permutation.h"
#include "headscope/organize/sparsity.h"
#include "headscope/organize/tensor_share.h"

namespace headscope {

/// A control tensor, organized like the original: what the questionnaire finds in maps whose rows hold the same values
/// at other keys.
struct ControlDraw {
  SparsityValues figures;  ///< On rank 0 only.
  PartitionTree head;
  PartitionTree query;
  PartitionTree key;
};

/// Permutes the rows of the tensor (`permute_rows`), organizes the result and measures its sparsity under its own
/// trees. Every draw costs about as much as `organize` of the original, and one more copy of the rank's share.
/// Collective over the ranks of the tensor's share; the same bits for any number of ranks and threads.
///
/// \throws Error  as `organize`.
[[nodiscard]] ControlDraw draw_control(const TensorShare& tensor, RowPermutation kind,
                                       const QuestionnaireOptions& questionnaire, std::uint64_t seed, std::size_t draw,
                                       const Context& context = {});

/// l1 of the draws divided by l1 under the trees that were found.
struct Gain {
  double mean = 1;  ///< With the mean l1 of the draws.
  double low = 1;   ///< The smallest of the draws.
  double high = 1;  ///< The largest.
};
/// NaN if there are no draws; 1 if the maps are constant.
[[nodiscard]] Gain gain_over(double found_l1, std::span<const double> control_l1);

/// The gain of a network from which on its trees count as found rather than fitted.
///
/// Maps of random weights have a weak organization of their own: the queries and keys of a layer have few dimensions,
/// and causal attention averages over prefixes. GPT-2, LLaMA and ViT shapes with random weights reach 1.0 to 1.12 over
/// `kKeys`, and 1.0 to 1.35 over `kRows`. Trained models reach 1.26 to 2.2 over `kKeys`.
inline constexpr double kNetworkGain = 1.15;
/// The same for one head; single heads of random weights reach 1.17.
inline constexpr double kHeadGain = 1.2;

}  // namespace headscope
