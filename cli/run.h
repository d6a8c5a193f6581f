#pragma once

#include "cli/exit_codes.h"
#include "cli/session.h"

namespace headscope::cli {

/// The whole program: parses the command line, runs the command, and turns every failure into one line on `session.err`
/// and an exit code.
[[nodiscard]] int run(int argc, const char* const* argv, Session session);

}  // namespace headscope::cli
