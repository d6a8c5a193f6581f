#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/model/family_table.h"

namespace headscope {

/// The model families headscope knows, and what works for each.
struct FamiliesRequest {
  static constexpr CommandInfo kCommand = {.name = "families",
                                           .about = "The model families that headscope knows, and what works for each",
                                           .example = "families --json"};
};
void describe(FamiliesRequest& request, OptionList& options);

struct FamiliesOutcome {
  std::vector<FamilySupport> families;
  RunFiles files;  ///< Always empty.
};

/// Runs the request. Reads and writes no files. Not collective.
[[nodiscard]] std::optional<FamiliesOutcome> run(const FamiliesRequest& request, const Context& context = {});

[[nodiscard]] std::string summary(const FamiliesOutcome& outcome);
[[nodiscard]] std::string to_json(const FamiliesOutcome& outcome);

}  // namespace headscope
