#pragma once

namespace headscope::cli {

/// Thrown where the work notices that the user pressed Ctrl-C or the process was asked to end.
struct Interrupted {
  int signal;
  bool kept = false;  ///< A rerun continues from what was finished.
};

/// From now on SIGINT and SIGTERM are remembered instead of ending the process at once, so that
/// temporary files are removed; a second one ends it.
void watch_for_interrupts();

/// \throws Interrupted  if a signal came.
void check_for_interrupt();

}  // namespace headscope::cli
