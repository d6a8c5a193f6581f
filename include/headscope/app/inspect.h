#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"
#include "headscope/io/hub_cache.h"
#include "headscope/model/model.h"
#include "headscope/model/readiness.h"

namespace headscope {

/// What is known about a model from its headers and configuration.
struct InspectRequest {
  static constexpr CommandInfo kCommand = {.name = "inspect",
                                           .about = "Family, sizes, heads, tensors, and what can be done with a model",
                                           .example = "inspect models/gpt2 --json"};

  ModelSource model = {};
  bool tensors = false;  ///< The summary lists every tensor by name.
  bool check = false;    ///< Read the weights of all heads and fail if one is not finite.
  Resources resources = {};
};
void describe(InspectRequest& request, OptionList& options);

/// Whether a command can run on the model.
struct CommandReadiness {
  Readiness readiness;
  bool exists = false;  ///< Whether this version has the command.
};

struct InspectOutcome {
  ModelInfo model;
  ModelLocation location;
  bool is_gguf = false;
  std::size_t file_count = 0;
  std::uint64_t parameters = 0;               ///< See `parameter_count`.
  std::optional<std::size_t> context_length;  ///< In tokens; nothing if the files do not say.
  bool has_tokenizer = false;
  std::vector<CommandReadiness> commands;
  bool lists_tensors = false;  ///< Whether the summary lists every tensor by name.
  RunFiles files;              ///< Always empty.
};

/// Runs the request: opens the model and, if requested, reads its weights. Writes no files. Not collective.
///
/// \throws Error  as `Model::open`; with `check` as `Model::load_layer`.
[[nodiscard]] std::optional<InspectOutcome> run(const InspectRequest& request, const Context& context = {});

[[nodiscard]] std::string summary(const InspectOutcome& outcome);
[[nodiscard]] std::string to_json(const InspectOutcome& outcome);

}  // namespace headscope
