#pragma once

#include <optional>
#include <string>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"
#include "headscope/apply/reproduce.h"
#include "headscope/model/model.h"

namespace headscope {

/// The figures published for GPT-2 small, beside ours.
struct ReproduceRequest {
  static constexpr CommandInfo kCommand = {.name = "reproduce",
                                           .about = "The figures published for GPT-2 small, beside ours",
                                           .example = "reproduce models/gpt2"};

  ModelSource model = {};
  Resources resources = {};
};
void describe(ReproduceRequest& request, OptionList& options);

struct ReproduceOutcome {
  ModelInfo model;
  Reproduction result;
  RunFiles files;  ///< Always empty.
};

/// Runs the request: opens the model and computes every published figure. Writes no files. Not collective.
///
/// \throws Error  as `reproduce`, `Model::open`.
[[nodiscard]] std::optional<ReproduceOutcome> run(const ReproduceRequest& request, const Context& context = {});

[[nodiscard]] std::string summary(const ReproduceOutcome& outcome);
[[nodiscard]] std::string to_json(const ReproduceOutcome& outcome);

}  // namespace headscope
