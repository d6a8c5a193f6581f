#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.h"
#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope::cli {

/// --layers and --heads as they were typed, split at commas.
struct HeadChoiceWords {
  std::vector<std::string> layers;
  std::vector<std::string> heads;
};

/// What they mean. All lists empty: everything.
struct HeadChoice {
  std::vector<std::size_t> layers;
  std::vector<std::size_t> heads;  ///< Of each layer.
  std::vector<HeadId> named;       ///< Single ones besides.
};

/// --layers 3-5,8 and --heads 0-3,7,L4H7,4.8
void add_head_choice_options(Command& command, HeadChoiceWords& words);

/// \throws Error  kInvalidArgument for a word that is neither a number, a range nor, among
///                heads, the name of a head.
[[nodiscard]] HeadChoice parse_head_choice(const HeadChoiceWords& words);

/// The query heads a choice leaves of a model, ascending, each once; empty for all.
/// \throws Error  kInvalidArgument if a chosen layer or head does not exist, or nothing is left.
[[nodiscard]] std::vector<HeadId> chosen_heads(const HeadChoice& choice, const HeadSizes& sizes);

}  // namespace headscope::cli
