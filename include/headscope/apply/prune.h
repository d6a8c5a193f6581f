#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/capture/effect.h"
#include "headscope/capture/forward.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// In what order heads are removed.
enum class PruneCriterion {
  kInformation,  ///< Least bi-Haar information first, see `HeadStructure`.
  kRedundancy,   ///< Nearest to a head that is kept, in the head tree, first; distances anew after each.
  kPk,           ///< Least PK strength first, see `pk_strengths`.
  kNorm,         ///< Least norm of the OV product first, see `output_value_norms`.
  kAlone,        ///< Least damage first, measured with that head alone removed (arXiv 1905.10650).
  kGreedy,       ///< Least damage first, measured anew at every step with all heads before it removed.
  kRandom,       ///< Any order, the control.
};
inline constexpr std::array<PruneCriterion, 7> kPruneCriteria = {
    PruneCriterion::kInformation, PruneCriterion::kRedundancy, PruneCriterion::kPk,    PruneCriterion::kNorm,
    PruneCriterion::kAlone,       PruneCriterion::kGreedy,     PruneCriterion::kRandom};

[[nodiscard]] std::string_view to_string(PruneCriterion criterion) noexcept;
[[nodiscard]] std::optional<PruneCriterion> parse_prune_criterion(std::string_view name) noexcept;
/// Whether it goes by how heads are organized, among themselves or in what they look at: kInformation, kRedundancy,
/// kPk. The others are a size, measured damage, and chance.
[[nodiscard]] bool is_structural(PruneCriterion criterion) noexcept;

/// How many heads go.
struct PruneBudget {
  std::optional<std::size_t> count = {};  ///< So many ...
  double fraction = 0.5;                  ///< ... or this share of the query heads, rounded to the nearest number.
  bool per_layer = false;                 ///< Of every layer, not of the whole model.
};

/// What an intervention cost, as one number; negative if it helped.
enum class DamageMeasure {
  kLoss,  ///< Loss after less loss before; where no answers are known, as kKl.
  kKl,    ///< KL(before || after); for models without a head, the relative change of the output.
};
[[nodiscard]] double damage(const Effect& effect, DamageMeasure measure) noexcept;

struct PruneOptions {
  std::vector<PruneCriterion> criteria = {PruneCriterion::kInformation, PruneCriterion::kRedundancy,
                                          PruneCriterion::kPk, PruneCriterion::kNorm, PruneCriterion::kRandom};
  PruneBudget budget = {};
  std::vector<HeadId> removable = {};  ///< Only these query heads; all if empty.
  std::vector<HeadId> kept = {};       ///< Never these.
  std::size_t points = 10;             ///< Of a curve, at most, beside the one where nothing is removed.
  DamageMeasure measure = DamageMeasure::kLoss;
  std::size_t candidates = 8;  ///< Heads that kGreedy measures at a step, those that last cost least; 0: all.
  std::size_t seeds = 20;      ///< Orders of kRandom; fewer than 20 cannot show anything at 5 %.
  std::uint64_t seed = 0;      ///< The first one's.
  /// The first so many inputs serve for choosing heads and no others for measuring; 0: all serve for both.
  std::size_t choose_on = 0;
  std::size_t map_inputs = 8;            ///< Inputs whose maps are organized, at most.
  std::size_t skip_first = 0;            ///< Tokens left out of the maps.
  std::vector<std::size_t> labels = {};  ///< Of image classifiers: one an input, or none.
  std::size_t memory = std::size_t{2} << 30;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};
};

/// Heads in the order they are removed.
struct HeadRanking {
  PruneCriterion criterion = PruneCriterion::kRandom;
  std::uint64_t seed = 0;      ///< Of kRandom.
  std::vector<HeadId> order;   ///< All that may be removed; of kGreedy as many as the budget asks for.
  std::vector<double> scores;  ///< What the criterion says of each; the rank for kRandom.
};

/// What is left of the model after the first so many heads of a ranking.
struct CurvePoint {
  std::size_t ranking = 0;  ///< Index into PruneResult::rankings.
  std::size_t removed = 0;
  Effect effect;
};

/// One ranking at the whole budget, beside the random ones.
struct PruneVerdict {
  std::size_t ranking = 0;
  double damage = 0;
  std::size_t better_than = 0;  ///< Random orders that do more damage.
  /// (1 + random orders that do no more damage) / (1 + random orders): how often chance would do as well. No assumption
  /// on how their damage is spread, which one indispensable head makes bimodal. Nothing for kRandom and without it.
  std::optional<double> random_p = {};
};

struct PruneResult {
  std::vector<HeadRanking> rankings;   ///< Criterion by criterion, kRandom once a seed.
  std::vector<CurvePoint> curve;       ///< Ranking by ranking, from nothing removed to the budget.
  std::vector<PruneVerdict> verdicts;  ///< One a ranking.
  std::vector<HeadId> zero;            ///< Heads that wrote nothing to begin with.
  std::size_t removed = 0;             ///< Heads of the budget.
  std::size_t heads = 0;               ///< Query heads of the model.
  std::size_t chosen_on = 0;           ///< Inputs for choosing, and
  std::size_t measured_on = 0;         ///< for measuring.
  bool held_out = false;               ///< Whether those are other inputs.
  DamageMeasure measure = DamageMeasure::kLoss;
  /// The ranking of least damage at the budget, kRandom left out; nothing if there is no other.
  std::optional<std::size_t> best = {};

  /// The heads that go, ascending.
  [[nodiscard]] std::vector<HeadId> removed_heads(std::size_t ranking) const;
};

/// Ranks the query heads by each criterion and measures, with the real forward pass, what the model loses when they
/// are removed one after another up to the budget. Removed is what writes nothing: `zero_ablation`, which is what the
/// model of `add_pruned_checkpoint` computes, bit by bit.
///
/// Heads that are zero already cost nothing, count towards the budget and come first in every ranking. With
/// `per_layer` the layers take turns, so that at every point of a curve they have lost the same number, give or take
/// one.
///
/// Cost in forward passes over the inputs: `points` a ranking; the number of heads for kAlone; that and budget *
/// candidates for kGreedy. kInformation and kRedundancy organize the maps once for both.
///
/// \throws Error  kInvalidArgument if there are no inputs or none is left to measure on, a head does not exist, the
///                budget asks for no head or for more than may be removed, or a criterion stands twice; as the parts
///                otherwise.
[[nodiscard]] PruneResult prune(const Model& model, std::span<const ModelInput> inputs,
                                const PruneOptions& options = {});

}  // namespace headscope
