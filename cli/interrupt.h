#pragma once

#include "headscope/base/context.h"

namespace headscope::cli {

/// Thrown when the user pressed Ctrl-C or the process was asked to end.
struct Interrupted : Cancelled {
  explicit Interrupted(int number) : signal(number) {}
  int signal;
};

/// From now on:
///
/// - SIGINT, SIGTERM and SIGHUP are recorded instead of ending the process at once, so that a command ends in order.
///   One that has not ended after 0.7 seconds, because it is in the middle of a large product, is ended by another
///   thread, which removes its temporary files. It says so unless the process is one of several ranks: mpirun ends the
///   others if one has failed, and that one has said why. A second signal ends the process.
/// - SIGBUS, which a file causes that becomes shorter while it is mapped, ends the process with a line that names the
///   file and the exit code of bad input.
/// - SIGXFSZ is ignored: a file above the limit of file sizes is an error of the write.
void watch_for_interrupts(bool one_of_several);

/// \throws Interrupted  if a signal was recorded.
void check_for_interrupt();

}  // namespace headscope::cli
