#pragma once

#include "cli/session.h"

namespace CLI {
class App;
}

namespace headscope::cli {

// Options that mean the same in every command that has them.

/// --threads N
void add_threads_option(CLI::App& command);

/// --quiet: no progress on stderr; results and errors stay.
void add_quiet_option(CLI::App& command, Session& session);

}  // namespace headscope::cli
