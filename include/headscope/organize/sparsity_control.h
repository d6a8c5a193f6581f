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

/// Levels that random weights do not reach, over both controls.
///
/// Maps of random weights have an organization of their own: the queries and keys of a layer have few dimensions,
/// causal attention averages over prefixes, and a token that occurs twice has similar rows and columns. Networks of
/// GPT-2, LLaMA and ViT shapes with random weights reach 1.0 to 1.6 over `kRows`; over `kKeys` 1.0 to 1.12 on random
/// tokens and up to 1.3 on tokens that repeat. At most 3 % of their heads reach 1.3 over both, against 16 to 25 % in a
/// small trained language model, and over 70 % in SmolLM2-135M, MiniLM and a small vision model. So a network gains if
/// both of its gains reach `kNetworkGain` and this fraction of its heads gains; a head gains if both of its gains reach
/// `kHeadGain`.
inline constexpr double kNetworkGain = 1.15;
inline constexpr double kHeadGain = 1.3;
inline constexpr double kHeadShare = 0.1;

}  // namespace headscope
