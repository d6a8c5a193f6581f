#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headscope/base/random.h"
#include "headscope/patch/choose_edges.h"

namespace headscope {

/// An edge with everything that is known about it.
struct MeasuredEdge {
  PatchEdge edge;
  EdgeKind kind = EdgeKind::kGiven;
  EdgeKind sample = EdgeKind::kGiven;  ///< As in `ChosenEdge`.
  double pk = 0;                       ///< Projection kernel.
  double z = 0;                        ///< Its z under the matched null.
  bool beyond_chance = false;          ///< As in `Edge`.
  double local = 0;                    ///< Local effect, from the screen.
  std::optional<double> effect = {};   ///< Change of the metric when it is cut; nothing if it was not measured.
  bool above_controls = false;         ///< |effect| is above the level of its role.
  bool in_circuit = false;             ///< Above the controls and beyond chance.
};

/// Effects of chosen edges beside those of their controls. Undefined values are NaN.
struct EffectComparison {
  std::size_t chosen = 0;  ///< Edges that are no controls.
  std::size_t controls = 0;
  double level = 0;           ///< 99 % quantile of |effect| of all controls of the role, interpolated.
  std::size_t above = 0;      ///< Chosen edges with |effect| above the level.
  double median = 0;          ///< Median |effect| of the chosen edges,
  double median_control = 0;  ///< and of the controls.
  /// Probability that the |effect| of random edges exceeds that of their controls as clearly as that of the chosen
  /// ones: twice the smaller p of the rank-sum test, by permutation as (1 + count) / (1 + draws), and of the precedence
  /// test, the probability that this many chosen edges are above all controls. The first notices many small effects,
  /// the second few large ones.
  double p = 1;
  double least_p = 1;  ///< The smallest p that these numbers of edges and controls can give.
};

/// Compares sizes of effects. `level` is that of all controls of the role.
[[nodiscard]] EffectComparison compare_effects(std::span<const double> chosen, std::span<const double> controls,
                                               double level, const Random& random);
/// 99 % quantile of sizes of effects, interpolated; NaN if there are none.
[[nodiscard]] double control_level(std::vector<double> controls);
/// Area under the ROC curve of a predictor for "effect above the level"; NaN if it is not defined.
[[nodiscard]] double auc_above(std::span<const double> predictor, std::span<const double> effects, double level);
/// Spearman's correlation; NaN for fewer than three edges.
[[nodiscard]] double effect_correlation(std::span<const double> predictor, std::span<const double> effects);

/// How the effects of one role and one sample, the edges of one kind and their controls, compare with the projection
/// kernel and the screen. Undefined values are NaN: without controls, without edges on both sides of the level, with
/// fewer than three edges.
///
/// A predictor is judged fairly only on a sample that it did not choose: the screen on kTop, the kernel on kScreen. On
/// its own sample it is compared with random edges.
struct Agreement : EffectComparison {
  Role role = Role::kQ;
  EdgeKind sample = EdgeKind::kTop;
  double auc_pk = 0;               ///< Area under the ROC curve for "above the level", over the sample: by pk,
  double auc_z = 0;                ///< by its z,
  double auc_local = 0;            ///< and by the local effect.
  double rank_correlation_pk = 0;  ///< Spearman's, with |effect|.
  double rank_correlation_local = 0;
};

/// Compares the effects role by role and sample by sample, and sets `above_controls` and `in_circuit` of every edge.
/// Edges without a measured effect do not count; samples without edges are left out.
[[nodiscard]] std::vector<Agreement> compare_with_controls(std::span<MeasuredEdge> edges, std::span<const Role> roles,
                                                           std::uint64_t seed);

}  // namespace headscope
