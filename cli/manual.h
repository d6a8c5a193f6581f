#pragma once

#include <memory>
#include <span>
#include <string>

#include "headscope/app/command.h"

namespace headscope::cli {

/// Returns the manual page of the program, with all commands and their options, for man and groff.
[[nodiscard]] std::string manual_page(std::span<const std::unique_ptr<Command>> commands);
/// Returns the same as a page of documentation, docs/options.md.
[[nodiscard]] std::string manual_markdown(std::span<const std::unique_ptr<Command>> commands);

}  // namespace headscope::cli
