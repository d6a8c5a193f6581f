#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "headscope/app/command.h"
#include "headscope/app/map_selection.h"
#include "headscope/app/request_parts.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/sparsity.h"
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
  std::size_t draws = 8;
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {.memory = std::size_t{8} << 30};
};
void describe(OrganizeRequest& request, OptionList& options);

struct OrganizeOutcome {
  MapInfo maps;
  QuestionnaireOptions options;
  Organization organization;
  Sparsity sparsity;
  std::array<DiffusionMap, 3> embeddings;  ///< Head, query, key.
  RunFiles files = {};
};

/// Runs the request: loads the maps, organizes them, measures sparsity, embeds all axes, writes the results.
/// Collective; the outcome is absent on ranks other than 0.
///
/// \throws Error  as `organize`, `measure_sparsity`, `diffusion_map`, `make_network_tensor` and `RunFolder`; kIo,
///                kFormat, kUnsupported, kResource if the maps cannot be read or do not fit the budget; kBackend if
///                ranks see different maps.
[[nodiscard]] std::optional<OrganizeOutcome> run(const OrganizeRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder, except haar/network.npy: the coefficients are as large as the maps and not
/// part of the outcome. `run` streams them to the file.
void write(const OrganizeOutcome& outcome, RunFolder& folder);

[[nodiscard]] std::string summary(const OrganizeOutcome& outcome);
[[nodiscard]] std::string to_json(const OrganizeOutcome& outcome);

}  // namespace headscope
