#pragma once

#include "headscope/base/context.h"

namespace headscope::cli {

/// Thrown when the user pressed Ctrl-C or the process was asked to end.
struct Interrupted : Cancelled {
  explicit Interrupted(int number) : signal(number) {}
  int signal;
};

/// From now on SIGINT and SIGTERM are recorded instead of ending the process at once, so that temporary files are
/// removed. A second signal ends the process.
void watch_for_interrupts();

/// \throws Interrupted  if a signal was recorded.
void check_for_interrupt();

}  // namespace headscope::cli
