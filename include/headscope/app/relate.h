#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"
#include "headscope/model/model.h"
#include "headscope/relate/component_graph.h"
#include "headscope/relate/neurons.h"
#include "headscope/relate/relate.h"
#include "headscope/relate/token_profile.h"

namespace headscope {

/// The subspaces that get token profiles.
enum class ProfiledSubspaces { kEdges, kAll, kNone };

/// What the graph may have as nodes.
enum class GraphNodes { kHeads, kRotaryKey, kMlp, kEmbedding, kPosition, kUnembedding };

/// Nodes of an MLP that is a mixture of experts.
enum class ExpertNodes { kPooled, kEach };

/// Which heads communicate, from their weights.
struct RelateRequest {
  static constexpr CommandInfo kCommand = {
      .name = "relate",
      .about = "Which heads talk to which, from their weights",
      .example = "relate models/gpt2 -o runs/gpt2 --metric pk,cs --labels data/labels/gpt2-small-wang2023.json",
      .is_collective = true};

  ModelSource model = {};
  std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};
  std::vector<Metric> metrics = {Metric::kPk};  ///< The first one determines edges, graph and tree.
  WeightProcessing weights = WeightProcessing::kFolded;
  std::vector<NullModel> nulls = {};  ///< To report. Empty: all that are defined for the first metric.
  std::size_t top = 20;               ///< Edges kept per pair of roles, ...
  std::optional<double> max_q = {};   ///< ... or all with a q-value below this.
  std::vector<GraphNodes> nodes = {GraphNodes::kHeads};  ///< With others than heads, overlaps are computed, too.
  ExpertNodes experts = ExpertNodes::kPooled;
  std::filesystem::path labels = {};  ///< Label file; empty: none.
  std::string labels_text = {};       ///< The contents of one; used if not empty.
  std::size_t tokens = 10;            ///< Tokens per profile.
  std::size_t neurons = 0;            ///< Neurons listed per subspace that has token profiles.
  ProfiledSubspaces tokens_for = ProfiledSubspaces::kEdges;
  TokenMatrix tokens_from = TokenMatrix::kUnembedding;
  HeadSelection selection = {};
  bool earlier_only = false;
  bool sensitivity = false;  ///< Also compare with other weight processings.
  std::size_t draws = 32;
  std::size_t seed = 0;
  Resumption resumption = {};
  OutputTarget output = {};
  Resources resources = {};
};
void describe(RelateRequest& request, OptionList& options);

/// A token of a profile, with its text.
struct ProfiledToken {
  HeadRole subspace;
  std::size_t rank = 0;  ///< 1 is the closest.
  std::size_t id = 0;
  std::string text;
  double score = 0;
  double log10_p = 0;  ///< As in TokenScore.
  double q = 1;
};

/// A token of a neuron's profile, with its text.
struct NeuronToken {
  NeuronId neuron;
  std::size_t rank = 0;  ///< 1 is the closest.
  std::string text;
  TokenScore score;
};

struct RelateOutcome {
  ModelInfo model;
  RelateOptions options;
  RelateResult result;
  std::optional<ComponentGraph> components;  ///< If nodes other than heads were requested.
  std::vector<ProfiledToken> tokens;
  std::vector<HeadNeurons> neurons;
  std::vector<NeuronToken> neuron_tokens;
  bool has_tokens = false;         ///< Whether profiles were computed at all.
  std::size_t resumed_blocks = 0;  ///< Blocks that an interrupted run had finished.
  RunFiles files;
};

/// Runs the request: opens the model, relates its heads, computes token profiles, writes the results. Collective; the
/// outcome is absent on ranks other than 0.
///
/// \throws Error  as `relate`, `RunFolder`, `Model::open`; kBackend if ranks see different models.
[[nodiscard]] std::optional<RelateOutcome> run(const RelateRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder.
void write(const RelateOutcome& outcome, RunFolder& folder);

[[nodiscard]] std::string summary(const RelateOutcome& outcome);
[[nodiscard]] std::string to_json(const RelateOutcome& outcome);

}  // namespace headscope
