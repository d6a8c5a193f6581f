#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"
#include "headscope/forward/forward.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// The order in which heads are removed.
enum class PruneCriterion {
  kInformation,  ///< Smallest bi-Haar information first, see `HeadStructure`.
  kRedundancy,   ///< Head closest in the head tree to another remaining head first; re-evaluated after each removal.
  kPk,           ///< Smallest PK strength first, see `pk_strengths`.
  kNorm,         ///< Smallest norm of the OV product first, see `output_value_norms`.
  kAlone,        ///< Smallest damage first, measured with only that head removed (arXiv 1905.10650).
  kGreedy,       ///< Smallest damage first, measured again at every step with all earlier heads removed.
  kRandom,       ///< Random order, the control.
  kEnergy,       ///< Smallest energy first: least change of the stream if it writes its mean, see `HeadMoments`.
  kVariation,    ///< Smallest variation first: the same relative to what distinguishes tokens, see `HeadMoments`.
};
inline constexpr std::array<PruneCriterion, 9> kPruneCriteria = {
    PruneCriterion::kVariation,  PruneCriterion::kEnergy, PruneCriterion::kInformation,
    PruneCriterion::kRedundancy, PruneCriterion::kPk,     PruneCriterion::kNorm,
    PruneCriterion::kAlone,      PruneCriterion::kGreedy, PruneCriterion::kRandom};

[[nodiscard]] std::string_view to_string(PruneCriterion criterion) noexcept;
[[nodiscard]] std::optional<PruneCriterion> parse_prune_criterion(std::string_view name) noexcept;
/// Returns whether the criterion depends on how heads are organized, among themselves or in what they attend to:
/// kInformation, kRedundancy, kPk. The others are energies and norms, measured damage, and chance.
[[nodiscard]] bool is_structural(PruneCriterion criterion) noexcept;

/// How many heads to remove.
struct PruneBudget {
  std::optional<std::size_t> count = {};  ///< This many; if unset,
  double fraction = 0.5;                  ///< this fraction of the query heads, rounded to nearest.
  bool per_layer = false;                 ///< Applies to every layer separately instead of to the whole model.
};

/// The cost of an intervention as one number; negative if it helped.
enum class DamageMeasure {
  kLoss,  ///< Loss after minus loss before; kKl if the correct answers are not known.
  kKl,    ///< KL(before || after); the relative change of the output for models without an output head.
};
[[nodiscard]] double damage(const Effect& effect, DamageMeasure measure) noexcept;

struct PruneOptions {
  std::vector<PruneCriterion> criteria = {PruneCriterion::kVariation, PruneCriterion::kEnergy, PruneCriterion::kRandom};
  /// What a removed head writes: zeros, or its mean over the inputs used for choosing. If unset, the mean where the
  /// model's files can hold it (`find_output_bias`), otherwise zeros.
  std::optional<Ablation> replace = {};
  PruneBudget budget = {};
  std::vector<HeadId> removable = {};  ///< Query heads that may be removed; all if empty.
  std::vector<HeadId> kept = {};       ///< Query heads that must be kept.
  std::size_t points = 10;             ///< Maximum points per curve, not counting the one with nothing removed.
  DamageMeasure measure = DamageMeasure::kLoss;
  std::size_t candidates = 8;  ///< Heads measured per kGreedy step: those that cost least when last measured; 0: all.
  std::size_t seeds = 20;      ///< Number of random orders that are measured at every point of the curve.
  /// Maximum number of random orders of each kind (`PruneControl`) at the full budget; if unset, 100, or 20 per
  /// criterion if that is more: with m criteria and fewer than 20 m orders no corrected p is below 0.05.
  std::optional<std::size_t> orders = {};
  std::uint64_t seed = 0;  ///< Seed of the first random order.
  /// The first `choose_on` inputs are used only to choose heads, the others only to measure; 0: all are used for both.
  std::size_t choose_on = 0;
  std::size_t map_inputs = 8;            ///< Maximum number of inputs whose maps are organized.
  std::size_t skip_first = 0;            ///< Number of leading tokens left out of the maps.
  std::vector<std::size_t> labels = {};  ///< For image classifiers: one per input, or empty.
};

/// Heads in the order in which they are removed.
struct HeadRanking {
  PruneCriterion criterion = PruneCriterion::kRandom;
  std::uint64_t seed = 0;      ///< For kRandom.
  std::vector<HeadId> order;   ///< All removable heads; for kGreedy only as many as the budget.
  std::vector<double> scores;  ///< Score of each head under the criterion; the rank for kRandom.
};

/// Effect of removing the first `removed` heads of a ranking.
struct CurvePoint {
  std::size_t ranking = 0;  ///< Index into PruneResult::rankings.
  std::size_t removed = 0;
  Effect effect;
};

/// Random orders that a criterion is compared with at the full budget.
enum class PruneControl {
  kPlain,    ///< Any heads. The first `seeds` are the rankings of kRandom.
  kByLayer,  ///< As many heads of each layer as the criterion removes, chosen at random within the layer.
};
[[nodiscard]] std::string_view to_string(PruneControl control) noexcept;

/// What one random order does at the full budget.
struct ControlOrder {
  PruneControl control = PruneControl::kPlain;
  std::size_t ranking = 0;  ///< For kByLayer: the ranking whose numbers of heads per layer it has.
  std::uint64_t seed = 0;
  double damage = 0;
  Effect effect;
};

/// One ranking compared with random orders of one kind. No mean and deviation are used: a single indispensable head
/// makes the damage of random orders bimodal.
struct ControlTest {
  std::size_t orders = 0;       ///< Number of random orders.
  std::size_t better_than = 0;  ///< Number of them that do more damage.
  double least = 0;             ///< Damage of the random orders: minimum, median and maximum.
  double median = 0;
  double most = 0;
  /// How often chance does as well: (1 + orders that do no more damage) / (1 + orders). Drawing stops once 10 orders do
  /// no more damage; then p = 10 / orders drawn up to there (sequential Monte Carlo test, Besag and Clifford 1991).
  double p = 1;
  double p_corrected = 1;  ///< p times the number of criteria tried, at most 1 (Bonferroni).
};

/// One ranking at the full budget.
struct PruneVerdict {
  std::size_t ranking = 0;
  double damage = 0;
  std::optional<ControlTest> plain = {};     ///< Empty for kRandom, or if kRandom was not requested.
  std::optional<ControlTest> by_layer = {};  ///< Likewise, or if `orders` is 0; equals `plain` with a budget per layer.
  /// Whether p_corrected is below 0.05 against both kinds of random orders.
  bool beats_random = false;
};

struct PruneResult {
  std::vector<HeadRanking> rankings;       ///< In the order of the criteria; kRandom once per seed.
  std::vector<CurvePoint> curve;           ///< Ranking by ranking, from nothing removed to the full budget.
  std::vector<PruneVerdict> verdicts;      ///< One per ranking.
  std::vector<ControlOrder> controls;      ///< Plain ones first, then by ranking.
  std::size_t tried = 0;                   ///< Number of criteria that were requested, not counting kRandom.
  std::vector<HeadId> zero;                ///< Heads that write nothing in the original model.
  Ablation replacement = Ablation::kZero;  ///< What removed heads write.
  std::string not_mean = {};               ///< If the mean was not requested and cannot be stored: why.
  std::vector<std::vector<float>> means;   ///< By layer * heads + head, before O; empty with zeros.
  std::size_t removed = 0;                 ///< Number of heads in the budget.
  std::size_t heads = 0;                   ///< Number of query heads in the model.
  std::size_t chosen_on = 0;               ///< Number of inputs used for choosing,
  std::size_t measured_on = 0;             ///< and for measuring.
  bool held_out = false;                   ///< Whether those are different inputs.
  DamageMeasure measure = DamageMeasure::kLoss;
  /// The ranking with the smallest damage at the full budget, excluding kRandom; empty if there is no other.
  std::optional<std::size_t> best = {};

  /// Returns the heads that the ranking removes, ascending.
  [[nodiscard]] std::vector<HeadId> removed_heads(std::size_t ranking) const;
  /// Returns what they write instead, for `add_pruned_checkpoint` and `run_forward`.
  [[nodiscard]] std::vector<HeadReplacement> replacements(std::size_t ranking, const Model& model) const;
};

/// Ranks the query heads by each criterion and measures, with the real forward pass, what the model loses when they are
/// removed one after another up to the budget. A removed head writes zeros or its mean output; the model written by
/// `add_pruned_checkpoint` computes the same: bit for bit with zeros, up to rounding with means.
///
/// Heads that are already zero cost nothing, count towards the budget and come first in every ranking. With
/// `per_layer`, layers take turns, so that at every point of a curve the numbers of heads they have lost differ by at
/// most one.
///
/// A criterion may do well only because it takes heads of layers that the model does not need. So, if kRandom is
/// requested, every criterion is compared at the full budget with random orders of both kinds of `PruneControl`.
///
/// Cost in forward passes over the inputs: two for means, kEnergy and kVariation; `points` per ranking; the number of
/// heads for kAlone; that plus budget * candidates for kGreedy; at most `orders` plus `orders` per criterion for the
/// random orders at the full budget, fewer for criteria that do no better than chance. kInformation and kRedundancy
/// share one organization of the maps.
///
/// The memory budget applies to one step at a time: an `EffectMeter`, the organization of the maps of one input, or the
/// affinities for kPk. Not collective: the calling rank does all the work.
///
/// \throws Error  kInvalidArgument if there are no inputs or none are left to measure on, a head does not exist, the
///                budget removes no head or more than may be removed, the criteria are empty or contain duplicates,
///                `points` or `seeds` is 0, or the number of labels does not match the inputs; otherwise as the
///                functions it calls.
[[nodiscard]] PruneResult prune(const Model& model, std::span<const ModelInput> inputs,
                                const PruneOptions& options = {}, const Context& context = {});

}  // namespace headscope
