#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/model/head_id.h"

namespace CLI {
class App;
}

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
void add_head_choice_options(CLI::App& command, HeadChoiceWords& words);

/// \throws Error  kInvalidArgument for a word that is neither a number, a range nor, among
///                heads, the name of a head.
[[nodiscard]] HeadChoice parse_head_choice(const HeadChoiceWords& words);

}  // namespace headscope::cli
