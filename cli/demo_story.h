#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/capture/detectors.h"
#include "headscope/io/json.h"
#include "headscope/model/model.h"
#include "headscope/relate/relate.h"

namespace headscope::cli {

/// An edge whose ends do what the edge says they could do together: the source looks at the token before, the target at
/// what followed the last time, and reads with its K what the source writes.
struct InductionEdge {
  Edge edge;
  double previous = 0;   ///< The source's score.
  double induction = 0;  ///< The target's score.
};

/// Those among the kept OK edges, closest first, whose ends both pass their detector.
[[nodiscard]] std::vector<InductionEdge> induction_edges(const RelateResult& related, const DetectResult& detected,
                                                         double threshold);

/// What taking one head away does to the loss on some texts.
struct Loss {
  std::string head;
  double before = 0;
  double after = 0;
};
[[nodiscard]] Loss loss_without(const Model& model, HeadId head, std::span<const std::string> texts);

/// What prune.json says, in two sentences: what the best structural criterion costs beside random orders, and what the
/// criteria that measure the damage itself cost. \throws Error  kFormat if it is not what 'prune' writes.
[[nodiscard]] std::string told_pruning(JsonValue summary);

/// What compare.json says of the pairs of runs, a line each. \throws Error  kFormat if it is not what 'compare' writes.
[[nodiscard]] std::string told_comparison(JsonValue names);

}  // namespace headscope::cli
