#pragma once

#include <functional>

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

/// While one lives, commands that run on this thread leave signals alone: they belong to the process that runs them
/// inside itself. `check_for_interrupt` asks `ask` instead, which may throw to stop.
class HostInterrupts {
 public:
  explicit HostInterrupts(std::function<void()> ask);
  HostInterrupts(const HostInterrupts&) = delete;
  HostInterrupts& operator=(const HostInterrupts&) = delete;
  ~HostInterrupts();
};

}  // namespace headscope::cli
