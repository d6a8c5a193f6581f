#include "cli/common_options.h"

#include <CLI/CLI.hpp>
#include <cstddef>

#include "headscope/base/parallel.h"

namespace headscope::cli {

void add_threads_option(CLI::App& command) {
  constexpr std::size_t kMost = 1024;
  command
      .add_option_function<std::size_t>(
          "--threads", [](const std::size_t& threads) { set_thread_count(threads); },
          "Number of threads (default: all processors)")
      ->check(CLI::Range(std::size_t{1}, kMost));
}

void add_quiet_option(CLI::App& command, Session& session) {
  command.add_flag("-q,--quiet", session.quiet, "Print no progress");
}

}  // namespace headscope::cli
