#include "cli/interrupt.h"

#include <csignal>
#include <utility>

namespace headscope::cli {
namespace {

volatile std::sig_atomic_t received = 0;
thread_local std::function<void()> host;

void remember(int signal) {
  received = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_for_interrupts() {
  if (host) return;
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

void check_for_interrupt() {
  if (host) return host();
  if (received != 0) throw Interrupted{.signal = received};
}

HostInterrupts::HostInterrupts(std::function<void()> ask) {
  host = std::move(ask);
}

HostInterrupts::~HostInterrupts() {
  host = nullptr;
}

}  // namespace headscope::cli
