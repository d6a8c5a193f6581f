#include "cli/interrupt.h"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "headscope/base/emergency.h"
#include "headscope/base/error.h"
#include "headscope/io/mapped_file.h"

namespace headscope::cli {
namespace {

constexpr std::chrono::milliseconds kPatience(700);
constexpr int kBadInput = 3;

volatile std::sig_atomic_t received = 0;
const void* volatile bad_address = nullptr;  // what the thread accessed that got a SIGBUS
sem_t wake;
std::atomic<bool> silent = false;

void record(int signal) {
  received = signal;
  std::signal(signal, SIG_DFL);
  ::sem_post(&wake);
}

// The thread that accessed the address cannot go on. It waits for the other thread to end the process.
void record_bad_address(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (bad_address == nullptr) bad_address = info->si_addr;
  ::sem_post(&wake);
  for (;;) ::pause();
}

[[noreturn]] void end_process(const std::string& message, int code) {
  EmergencyAction::do_all();
  const std::string line = "headscope: " + printable(message, 2000) + "\n";
  // Streams may be locked by a thread that waits: write to the descriptor.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(code);
}

void end_if_needed() {
  while (::sem_wait(&wake) != 0 && errno == EINTR) continue;
  if (bad_address == nullptr) std::this_thread::sleep_for(kPatience);
  if (bad_address != nullptr) {
    const auto path = mapped_file_at(bad_address);
    end_process(path ? path->string() + ": became shorter while it was read; the result was not written"
                     : "a memory access failed (SIGBUS); the result was not written",
                kBadInput);
  }
  if (silent) {
    EmergencyAction::do_all();
    ::_exit(128 + received);
  }
  end_process("interrupted; the unfinished result was not written", 128 + received);
}

}  // namespace

void watch_for_interrupts(bool one_of_several) {
  silent = one_of_several;
  static const bool started = [] {
    ::sem_init(&wake, 0, 0);
    std::thread(end_if_needed).detach();
    return true;
  }();
  static_cast<void>(started);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What was ignored from the start, as by nohup, stays ignored.
    if (std::signal(signal, record) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = record_bad_address;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void check_for_interrupt() {
  if (received != 0) throw Interrupted(received);
}

}  // namespace headscope::cli
