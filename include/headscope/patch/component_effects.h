#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/model.h"
#include "headscope/patch/agreement.h"
#include "headscope/patch/choose_edges.h"
#include "headscope/patch/component_cut.h"
#include "headscope/patch/cut.h"

namespace headscope {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// An edge from a head to an MLP or the unembedding, with everything that is known about it.
struct MeasuredCut {
  ComponentCut cut;
  EdgeKind kind = EdgeKind::kGiven;  ///< kTop, kGiven or kControl.
  double overlap = kUndefined;       ///< METHODS 11; NaN where `relate_components` does not compare the two.
  double z = kUndefined;             ///< Of the overlap under the isotropic null.
  bool beyond_chance = false;        ///< As in `ComponentEdge`, over the components that are compared here.
  std::optional<double> effect = {};
  bool above_controls = false;  ///< |effect| is above the level of its kind of target.
  bool in_circuit = false;      ///< Above the controls and beyond chance.
};

/// How the effects of cuts into one kind of target compare with their controls and with the overlap. Undefined values
/// are NaN.
struct ComponentAgreement : EffectComparison {
  ComponentKind target = ComponentKind::kMlp;
  double auc_overlap = 0;               ///< Area under the ROC curve for "above the level", over all cuts: by overlap,
  double auc_z = 0;                     ///< and by its z.
  double rank_correlation_overlap = 0;  ///< Spearman's, with |effect|.
};

/// What cuts into components are chosen and measured.
struct ComponentRequest {
  std::vector<ComponentKind> targets = {};  ///< kMlp, kUnembedding: the closest edges into each are cut.
  std::vector<ComponentCut> given = {};     ///< Exactly these instead.
  WeightProcessing weights = WeightProcessing::kFolded;
  EdgeChoice choice = {};

  [[nodiscard]] bool any() const noexcept { return !targets.empty() || !given.empty(); }
};

struct ComponentEffects {
  std::vector<MeasuredCut> cuts = {};              ///< By kind of target: chosen ones, then controls.
  std::vector<ComponentAgreement> agreement = {};  ///< By kind of target.
};

/// Chooses edges from heads to MLPs and the unembedding: by kind of target, those of the largest overlap, beyond chance
/// first, or those given; and for each as many other heads of the source's layer as controls. Nothing is measured yet.
///
/// Cost: `relate_components` with heads, MLPs and unembedding.
/// \throws Error  as `check_cut` and `relate_components`; kUnsupported if edges to something are to be chosen that the
///                model does not have, or that is not compared.
[[nodiscard]] std::vector<MeasuredCut> choose_component_cuts(const Model& model, const ComponentRequest& request,
                                                             const Context& context = {});

/// Measures the cuts, and compares them with their controls. `before` is the metric without a cut.
[[nodiscard]] ComponentEffects measure_component_cuts(std::vector<MeasuredCut> cuts, const CutMeter& meter,
                                                      double before, std::uint64_t seed, const Context& context = {},
                                                      FinishedWork* finished = nullptr);

}  // namespace headscope
