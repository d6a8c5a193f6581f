#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/map_selection.h"
#include "headscope/app/request_parts.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/sparsity.h"
#include "headscope/organize/sparsity_control.h"
#include "headscope/tree/diffusion_map.h"

namespace headscope {

/// Trees of heads, queries and keys.
struct OrganizeRequest {
  static constexpr CommandInfo kCommand = {
      .name = "organize",
      .about = "Trees, embeddings and sparsity of attention maps",
      .example =
          "organize runs/gpt2 -o runs/gpt2 --skip-first 1\n"
          "         headscope organize maps.npy --axes lhqk --mask causal -o runs/maps",
      .is_collective = true};

  MapSelection maps = {};
  // For several heads, or for one: the published settings of both differ.
  std::optional<std::size_t> iterations = {};  ///< Nothing: 3, or 10 for one map.
  std::optional<double> alpha = {};            ///< Nothing: 0, or 1 for one map.
  std::optional<double> beta = {};             ///< Nothing: 1, or 0 for one map.
  double epsilon = 1;
  TreeKind tree = TreeKind::kFlexible;
  std::filesystem::path start = {};  ///< A run whose query and key trees are the first ones; empty: none.
  double stop_below = 0;             ///< 0: never.
  std::size_t dimensions = 8;
  double time = 1;
  std::size_t draws = 4;
  /// Controls of each kind per input. One by default: each costs as much as the organization itself.
  std::size_t controls = 1;
  std::size_t inputs = 8;  ///< At most this many of the inputs of a folder.
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {.memory = std::size_t{8} << 30};
};
void describe(OrganizeRequest& request, OptionList& options);

/// What was found in one input.
struct OrganizedInput {
  std::string name;  ///< Where it came from.
  std::size_t queries = 0;
  std::size_t keys = 0;
  SparsityValues found;
  std::vector<ControlDraw> rows;       ///< Controls with the same mask and row values.
  std::vector<ControlDraw> keys_kept;  ///< Controls that also keep the mean attention to every key.
  DoubleMatrix head_affinity;
  PartitionTree head;
  PartitionTree query;
  PartitionTree key;

  /// Of the network, or of a head.
  [[nodiscard]] Gain gain(RowPermutation kind, std::optional<std::size_t> head_index = {}) const;
  /// Whether the network, or a head, gains more than random weights do: see `kNetworkGain`.
  [[nodiscard]] bool gains(std::optional<std::size_t> head_index = {}) const;
  [[nodiscard]] std::size_t heads_gaining() const;
};

/// Agreement of the trees of two inputs.
struct TreeStability {
  TensorAxis axis = TensorAxis::kHead;
  std::size_t input_a = 0;
  std::size_t input_b = 0;
  double found = 0;    ///< `cophenetic_correlation`
  double control = 0;  ///< Of the trees of the first controls with the same mask and row values; NaN without.
};

struct OrganizeOutcome {
  MapInfo maps;  ///< Of the first input, as the following, up to `inputs`.
  QuestionnaireOptions options;
  Organization organization;
  Sparsity sparsity;
  std::array<DiffusionMap, 3> embeddings;  ///< Head, query, key.
  std::vector<OrganizedInput> inputs = {};
  std::vector<TreeStability> stability = {};    ///< All pairs of inputs; queries and keys if the lengths agree.
  std::optional<PartitionTree> consensus = {};  ///< Of the heads; with several inputs.
  std::vector<std::string> left_out = {};       ///< Inputs that were not organized, and why.
  RunFiles files = {};
};

/// Runs the request: loads the maps, organizes them, measures sparsity, embeds all axes, organizes the controls and the
/// other inputs of the folder, one input at a time, and writes the results. Collective; the outcome is absent on ranks
/// other than 0.
///
/// \throws Error  as `organize`, `measure_sparsity`, `diffusion_map`, `make_network_tensor` and `RunFolder`; kIo,
///                kFormat, kUnsupported, kResource if the maps cannot be read or do not fit the budget; kBackend if
///                ranks see different maps.
[[nodiscard]] std::optional<OrganizeOutcome> run(const OrganizeRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder, except haar/network.npy: the coefficients are as large as the maps and not
/// part of the outcome. `run` streams them to the file.
void write(const OrganizeOutcome& outcome, RunFolder& folder);

/// What the outcome supports, in sentences; the first one is the headline. Empty without controls.
[[nodiscard]] std::vector<std::string> verdict(const OrganizeOutcome& outcome);
[[nodiscard]] std::string summary(const OrganizeOutcome& outcome);
[[nodiscard]] std::string to_json(const OrganizeOutcome& outcome);

}  // namespace headscope
