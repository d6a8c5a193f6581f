#pragma once

#include "cli/session.h"
#include "headscope/app/command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace headscope::cli {

/// Adds a command with all of its options to the program. It runs while the command line is parsed: words become the
/// request, and its summary or JSON is printed. `common` sets `session.common`. All of them must outlive the program.
void add_command(CLI::App& program, Command& command, OptionList& common, Session& session);

}  // namespace headscope::cli
