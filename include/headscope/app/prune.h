#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/input_sources.h"
#include "headscope/app/request_parts.h"
#include "headscope/apply/prune.h"

namespace headscope {

/// Which heads a model can do without.
struct PruneRequest {
  static constexpr CommandInfo kCommand = {
      .name = "prune",
      .about = "Remove heads by structure or by measured damage, and write the model",
      .example = "prune models/gpt2 -o runs/pruned --text-file book.txt --max-tokens 512 --fraction 0.5"};

  ModelSource model = {};
  InputSources inputs = {};
  std::filesystem::path labels = {};               ///< Correct classes of images, an npy file; empty: none.
  std::vector<std::size_t> labels_in_memory = {};  ///< The same; used if not empty.
  std::vector<PruneCriterion> criteria = {PruneCriterion::kVariation, PruneCriterion::kEnergy, PruneCriterion::kRandom};
  std::optional<Ablation> replace = {};   ///< As in PruneOptions.
  std::optional<std::size_t> count = {};  ///< Number of heads to remove, or ...
  double fraction = 0.5;                  ///< ... this fraction of them.
  bool per_layer = false;                 ///< The budget applies to every layer.
  std::vector<HeadId> protected_heads = {};
  HeadSelection selection = {};  ///< Heads that may be removed.
  DamageMeasure damage = DamageMeasure::kLoss;
  std::size_t points = 10;
  std::size_t candidates = 8;
  std::size_t choose_on = 0;
  std::size_t map_inputs = 8;
  std::size_t skip_first = 0;
  std::string write = "best";  ///< Criterion whose model is written, or best, or none.
  std::size_t seeds = 20;
  std::optional<std::size_t> orders = {};  ///< As in PruneOptions.
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {};
};
void describe(PruneRequest& request, OptionList& options);

struct PruneOutcome {
  PruneResult result;
  std::string model;  ///< As the request names it.
  std::vector<HeadId> protected_heads;
  std::optional<std::size_t> written;  ///< The ranking whose model was written.
  bool bias_argument = false;          ///< transformers reads its biases only with attention_bias=True.
  RunFiles files;
};

/// Runs the request: ranks heads by every criterion, measures the damage, and writes a model without the heads.
/// \throws Error  as `prune`, `add_pruned_checkpoint`, `RunFolder`, `Model::open` and `read_inputs`.
[[nodiscard]] std::optional<PruneOutcome> run(const PruneRequest& request, const Context& context = {});

/// Adds the tables and summaries of an outcome to a folder; the checkpoint is written while the request runs.
void write(const PruneOutcome& outcome, RunFolder& folder);

[[nodiscard]] std::string summary(const PruneOutcome& outcome);
[[nodiscard]] std::string to_json(const PruneOutcome& outcome);

/// Returns what the comparison with random orders supports, in sentences. The first one is the headline: which criteria
/// beat random orders, of how many tried, with p corrected for their number; or that none does.
[[nodiscard]] std::vector<std::string> verdict(const PruneResult& result);

}  // namespace headscope
