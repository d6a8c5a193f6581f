#pragma once

#include "cli/session.h"
#include "headscope/base/error.h"

namespace headscope::cli {

/// The exit codes of the program: 0 done, 2 usage, 3 bad input, 4 numerical
/// trouble, 5 device or other process, 6 out of memory or disk, 70 a bug of ours.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;

/// The whole program: parses the command line, runs the command, and turns
/// whatever goes wrong into one line on `session.err` and an exit code.
[[nodiscard]] int run(int argc, const char* const* argv, Session session);

/// The same for a host that handles errors itself.
/// \throws Error  whatever went wrong, a command line that makes no sense included (kInvalidArgument).
void run_or_throw(int argc, const char* const* argv, Session& session);

}  // namespace headscope::cli
