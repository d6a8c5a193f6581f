#include "cli/interrupt.h"

#include <csignal>

namespace headscope::cli {
namespace {

volatile std::sig_atomic_t received = 0;

void record(int signal) {
  received = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_for_interrupts() {
  std::signal(SIGINT, record);
  std::signal(SIGTERM, record);
}

void check_for_interrupt() {
  if (received != 0) throw Interrupted(received);
}

}  // namespace headscope::cli
