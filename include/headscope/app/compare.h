#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/map_selection.h"
#include "headscope/app/request_parts.h"
#include "headscope/apply/compare.h"
#include "headscope/organize/questionnaire.h"

namespace headscope {

/// How networks differ.
struct CompareRequest {
  static constexpr CommandInfo kCommand = {.name = "compare",
                                           .about = "Which differences between networks exceed the spread over inputs",
                                           .example = "compare runs/gpt2 runs/vit -o runs/compared"};

  std::vector<std::filesystem::path> runs = {};  ///< Two or more.
  std::vector<std::string> names = {};           ///< Of the runs; empty: the names of the folders.
  MapKind what = MapKind::kPattern;
  std::size_t skip_first = 0;
  std::size_t max_inputs = 32;  ///< Only the first inputs of a run are used.
  std::size_t iterations = 3;
  std::size_t draws = 4;
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {};
};
void describe(CompareRequest& request, OptionList& options);

/// The organization of one axis of a network.
struct ComparedAxis {
  std::string name;  ///< head, query or key
  AxisOrganization organized;
  std::vector<std::string> elements;  ///< Names of the elements.
};

/// A run that was compared.
struct ComparedNetwork {
  ComparedRun run;
  std::filesystem::path path;
  std::string kind;        ///< text or image; maps if the source does not say; weights if there are no maps.
  std::size_t inputs = 0;  ///< 0 if there are no maps; likewise the following numbers.
  std::size_t heads = 0;
  std::size_t min_tokens = 0;  ///< Over the inputs.
  std::size_t max_tokens = 0;
  std::vector<ComparedAxis> axes;  ///< On the first input; only axes of 2 to 2048 elements.
};

struct CompareOutcome {
  std::vector<ComparedNetwork> sources;
  Comparison comparison;
  RunFiles files = {};
};

/// Runs the request: organizes the maps of every input of every run, compares their features and, if `relate` wrote to
/// the runs as well, the informativeness of their weights. Not collective.
///
/// \throws Error  kInvalidArgument if there are fewer than two runs or their names are not unique; kFormat if some runs
///                have maps and others have not, or a file is malformed; otherwise as `map_signature`,
///                `make_network_tensor` and `RunFolder`.
[[nodiscard]] std::optional<CompareOutcome> run(const CompareRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder.
void write(const CompareOutcome& outcome, RunFolder& folder);

/// Returns in words how many features differ between two runs.
[[nodiscard]] std::string pair_verdict(const Comparison& comparison, std::size_t a, std::size_t b);

/// Returns what the comparison supports, in sentences: for two runs one, for more a headline and one per pair of runs.
[[nodiscard]] std::vector<std::string> verdict(const CompareOutcome& outcome);

[[nodiscard]] std::string summary(const CompareOutcome& outcome);
[[nodiscard]] std::string to_json(const CompareOutcome& outcome);

}  // namespace headscope
