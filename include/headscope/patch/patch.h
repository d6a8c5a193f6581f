#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/io/finished_work.h"
#include "headscope/patch/agreement.h"
#include "headscope/patch/component_effects.h"
#include "headscope/patch/head_change.h"
#include "headscope/patch/readout.h"
#include "headscope/patch/screen.h"

namespace headscope {

struct PatchOptions {
  std::vector<Role> roles = {Role::kQ, Role::kK, Role::kV};  ///< Of the targets; empty: no edges between heads.
  Replacement replacement = Replacement::kMean;
  WeightProcessing weights = WeightProcessing::kFolded;  ///< For the projection kernel.
  /// Edges to cut, instead of those of `EdgeChoice`; their roles must be among `roles`.
  std::vector<PatchEdge> given = {};
  EdgeChoice choice = {};
  MatchedOptions matched = {};
  bool screen_only = false;
  /// Edges to MLPs and the unembedding. They are cut, not screened.
  ComponentRequest components = {};
};

/// The inputs of `patch`. Everything must outlive the call.
struct PatchInputs {
  std::span<const ModelInput> inputs;
  std::span<const ModelInput> paired = {};  ///< For Replacement::kPair: one per input, of the same length.
  /// The predictions that count, by input; not used with `screen_only`.
  std::span<const std::vector<Readout>> readouts = {};
};

struct PatchResult {
  std::vector<Screen> screens;       ///< By role.
  std::vector<MeasuredEdge> edges;   ///< Chosen edges and controls, role by role; empty with `screen_only`.
  std::vector<Agreement> agreement;  ///< By role; empty with `screen_only`.
  ComponentEffects components;
  std::optional<double> before;  ///< The metric with nothing cut.
  std::size_t predictions = 0;   ///< Number of readouts.
};

/// Finds out which edges matter (METHODS 12): records a forward pass, screens all pairs of heads, compares their
/// weights, and cuts the most promising edges and random ones like them, one at a time.
///
/// Cost: a forward pass; the screen; `judge_wiring`; `choose_component_cuts`; per cut, a forward pass from the target's
/// layer on. Memory: the record (tokens * layers * (d_model + heads * d_head) floats) is held throughout; each stage
/// takes its own besides. `finished` receives what is screened and measured, and provides what an earlier run did; null
/// to keep nothing. Not collective.
///
/// \throws Error  kInvalidArgument if an edge does not exist, its role was not requested, or nothing can be measured;
///                otherwise as `RecordedPass`, `HeadChange`, `screen`, `judge_wiring`, `choose_component_cuts` and
///                `CutMeter`.
[[nodiscard]] PatchResult patch(const Model& model, const PatchInputs& inputs, const PatchOptions& options = {},
                                const Context& context = {}, FinishedWork* finished = nullptr);

}  // namespace headscope
