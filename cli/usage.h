#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "headscope/app/command.h"

namespace headscope::cli {

/// Returns what is wrong with the words of a command line that the parser did not take: the word, what it may have
/// meant, and where help is. `otherwise` is what the parser says; it is used if nothing better is known.
[[nodiscard]] std::string usage_message(std::span<const std::string> words,
                                        std::span<const std::unique_ptr<Command>> commands, std::string_view otherwise);

}  // namespace headscope::cli
