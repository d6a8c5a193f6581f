#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/input_sources.h"
#include "headscope/app/request_parts.h"
#include "headscope/patch/patch.h"
#include "headscope/relate/role_pair.h"

namespace headscope {

/// What a cut is measured on.
enum class PatchMetric {
  kLoss,             ///< Mean of -ln p(right answer), in nats.
  kLogitDifference,  ///< Mean of logit(answer) - logit(other).
};

/// An edge by its names, as in the columns of patch.csv.
struct NamedEdge {
  std::string pair;
  std::string source;
  std::string target;
};

/// What the edges that are cut may end in.
enum class PatchNodes { kHeads, kMlp, kUnembedding };

/// Which edges between heads matter.
struct PatchRequest {
  static constexpr CommandInfo kCommand = {
      .name = "patch",
      .about = "Cut edges between heads one at a time and measure what changes",
      .example = "patch models/gpt2 -o runs/gpt2 --text-file book.txt --max-tokens 128 --top 20"};

  ModelSource model = {};
  InputSources inputs = {};
  TargetSources targets = {};
  std::vector<std::filesystem::path> pairs_with = {};  ///< Paired inputs, as many as inputs.
  std::vector<ModelInput> paired_in_memory = {};       ///< The same; used if not empty.
  std::optional<Replacement> replace = {};             ///< Nothing: kPair if there are paired inputs, else kMean.
  std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};
  std::vector<PatchNodes> nodes = {PatchNodes::kHeads};  ///< Where the edges end.
  std::filesystem::path edges = {};             ///< CSV file of edges to cut; empty: chosen by kernel and screen.
  std::vector<NamedEdge> edges_in_memory = {};  ///< The same; used if not empty.
  std::size_t top = 20;                         ///< Edges per pair of roles, of each list.
  std::optional<std::size_t> controls = {};     ///< Random edges per edge; nothing: 1, or 0 for given edges.
  PatchMetric metric = PatchMetric::kLoss;
  /// First position whose prediction counts. Nothing: 0 for the loss over all next tokens; the last position if answers
  /// are given.
  std::optional<std::size_t> loss_from = {};
  std::vector<std::string> answers = {};  ///< Right answers: tokens, or classes; one for all inputs, or one each.
  std::vector<std::string> others = {};   ///< Wrong answers, for kLogitDifference.
  std::filesystem::path labels = {};      ///< Right answers as an npy file; empty: none.
  std::vector<std::int64_t> labels_in_memory = {};  ///< The same; used if not empty.
  bool screen_only = false;
  WeightProcessing weights = WeightProcessing::kFolded;
  std::size_t draws = 32;
  std::size_t seed = 0;
  Resumption resumption = {};
  OutputTarget output = {};
  Resources resources = {};
};
void describe(PatchRequest& request, OptionList& options);

struct PatchOutcome {
  ModelInfo model;
  PatchMetric metric = PatchMetric::kLoss;
  Replacement replacement = Replacement::kMean;
  std::size_t inputs = 0;
  std::size_t tokens = 0;                   ///< Of all inputs.
  bool given = false;                       ///< Whether the edges were given, not chosen.
  std::size_t top = 0;                      ///< How many were to be chosen, of each list.
  std::optional<std::string> warning = {};  ///< If the tokenizer does not know much of the text.
  PatchResult result;
  RunFiles files;
};

/// Runs the request: opens the model, reads the inputs, screens, cuts, writes the results. Not collective.
///
/// \throws Error  as `patch`, `read_inputs`, `RunFolder`, `Model::open`; kUnsupported if no loss is defined for the
///                model; kFormat if the file of edges or labels is malformed.
[[nodiscard]] std::optional<PatchOutcome> run(const PatchRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder.
void write(const PatchOutcome& outcome, RunFolder& folder);

[[nodiscard]] std::string summary(const PatchOutcome& outcome);
[[nodiscard]] std::string to_json(const PatchOutcome& outcome);

/// Returns what the effects support, in sentences. The first one is the headline.
[[nodiscard]] std::vector<std::string> verdict(const PatchOutcome& outcome);

}  // namespace headscope
