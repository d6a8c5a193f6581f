#pragma once

#include "cli/session.h"
#include "headscope/base/error.h"

namespace headscope::cli {

/// Exit codes of the program: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 device or other process, 6 out of
/// memory or disk, 70 internal error, 130 interrupted.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;

/// The whole program: parses the command line, runs the command, and turns every failure into one line on `session.err`
/// and an exit code.
[[nodiscard]] int run(int argc, const char* const* argv, Session session);

}  // namespace headscope::cli
