#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/app/compare.h"
#include "headscope/capture/detectors.h"
#include "headscope/model/model.h"
#include "headscope/relate/relate.h"

namespace headscope::app {

/// An edge whose ends do what the edge suggests: the source attends to the previous token, the target to the token that
/// followed the last time, and its K reads what the source writes.
struct InductionEdge {
  Edge edge;
  double previous = 0;   ///< Score of the source.
  double induction = 0;  ///< Score of the target.
};

/// Returns the kept OK edges, closest first, whose ends both pass their detector. A KV head has the best score of the
/// query heads that use it.
[[nodiscard]] std::vector<InductionEdge> induction_edges(const RelateResult& related, const DetectResult& detected,
                                                         const HeadSizes& sizes, double threshold);

/// Effect of removing one head on the loss on some texts.
struct Loss {
  std::string head;
  double before = 0;
  double after = 0;
};
[[nodiscard]] Loss loss_without(const Model& model, HeadId head, std::span<const std::string> texts);

/// Sequences of random tokens, each followed by its repetition, after the token that begins a text, if there is one.
[[nodiscard]] std::vector<std::int64_t> repeated_tokens(std::size_t vocabulary, std::optional<std::uint32_t> bos,
                                                        std::size_t sequences, std::size_t half);

/// The verdict on every two runs, one line each.
[[nodiscard]] std::string comparison_text(const CompareOutcome& outcome);

}  // namespace headscope::app
