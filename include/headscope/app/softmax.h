#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/map_selection.h"
#include "headscope/app/request_parts.h"
#include "headscope/organize/softmax_invariance.h"

namespace headscope {

/// The heads whose arrays are written.
enum class KeptArrays { kAll, kNone };

/// Whether the softmax keeps the organization of the scores.
struct SoftmaxRequest {
  static constexpr CommandInfo kCommand = {
      .name = "softmax",
      .about = "Does the softmax keep the organization of the scores? The tensor paraproduct",
      .example = "softmax runs/gpt2 -o runs/gpt2 --heads L5H1,L6H9"};

  /// Without a mask: scores exist for all keys, and only over all keys the mixed differences of g are those of f (see
  /// `softmax_invariance`).
  MapSelection maps = {.what = MapKind::kScores, .mask = "none"};
  std::size_t iterations = 10;
  BoundaryOrder boundary = BoundaryOrder::kFirst;
  std::optional<KeptArrays> paraproduct = {};  ///< Nothing: all if heads were selected, else none.
  std::size_t draws = 3;
  bool control = true;     ///< Whether to analyze scores permuted within rows, too.
  std::size_t inputs = 4;  ///< At most this many of the inputs of a folder.
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {.memory = std::size_t{8} << 30};
};
void describe(SoftmaxRequest& request, OptionList& options);

/// Medians over the heads of one input.
struct SoftmaxInput {
  std::string name;  ///< Where it came from.
  std::size_t queries = 0;
  std::size_t keys = 0;
  double error = 0;  ///< Of the second-order paraproduct.
  double error_shuffled = 0;
  double error_control = 0;      ///< NaN without a control.
  double agreement = 0;          ///< Cophenetic correlation of scores and softmax, mean of queries and keys.
  double agreement_control = 0;  ///< NaN without a control.
};

struct SoftmaxOutcome {
  MapInfo maps;                       ///< Of the first input.
  std::vector<HeadInvariance> heads;  ///< Of the first input, without `scores` and `parts`, which are in files.
  std::vector<SoftmaxInput> inputs = {};
  std::vector<std::string> left_out = {};  ///< Inputs that were not analyzed, and why.
  RunFiles files = {};
};

/// Runs the request: loads the scores of one input after the other and analyzes one head after the other. Not
/// collective.
///
/// \throws Error  as `softmax_invariance`, `make_network_tensor` and `RunFolder`; kIo, kFormat, kUnsupported, kResource
///                if the maps cannot be read or do not fit the budget.
[[nodiscard]] std::optional<SoftmaxOutcome> run(const SoftmaxRequest& request, const Context& context = {});

/// Adds the tables of an outcome to a folder. `run` adds the arrays of a head when it is done.
void write(const SoftmaxOutcome& outcome, RunFolder& folder);

/// What the outcome supports, in sentences; the first one is the headline. Empty without a control.
[[nodiscard]] std::vector<std::string> verdict(const SoftmaxOutcome& outcome);
[[nodiscard]] std::string summary(const SoftmaxOutcome& outcome);
[[nodiscard]] std::string to_json(const SoftmaxOutcome& outcome);

}  // namespace headscope
