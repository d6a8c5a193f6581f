#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/interrupt.h"

namespace headscope::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kBadInput = 3;
constexpr int kBackend = 5;
constexpr int kResource = 6;
constexpr int kBug = 70;

// Names in messages come from files and arguments; whatever they hold, the message stays one line of bearable length.
int print_failure(Session& session, const std::string& message, int code) {
  constexpr std::size_t kMaxLength = 2000;
  session.err << "headscope: " << printable(message, kMaxLength) << '\n';
  return code;
}

// One rank's failure is that of all; rank 0 prints it, whoever it was. What one rank cannot read and another can is no
// fault of the input.
int fail(Session& session, const std::string& message, int code) {
  if (session.ranks.is_root()) {
    session.ranks.announce_failure(code, message);
  } else {
    if (code == kBadInput) code = kBackend;
    session.ranks.announce_failure(
        code, "rank " + std::to_string(session.ranks.rank()) + " on " + session.ranks.host() + ": " + message);
  }
  return print_failure(session, message, code);
}

// Whether ranks share the work of the command; the other commands run on rank 0 alone. The command is the first word
// after the program's name that is not an option: later words may be folders with the name of a command.
bool is_shared(std::span<const char* const> arguments) {
  const auto words = arguments.subspan(std::min<std::size_t>(1, arguments.size()));
  const auto command = std::ranges::find_if(words, [](std::string_view word) { return !word.starts_with('-'); });
  if (command == words.end()) return false;
  const std::string_view name = *command;
  return name == "relate" || name == "organize";
}

// CLI11 looks for a command first: without one it does not say which word it did not know.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const std::string what =
      unknown.empty() ? std::string(error.what()) : "'" + unknown.front() + "' is not expected here";
  return what + "; 'headscope --help' shows the commands";
}

}  // namespace

void run_or_throw(int argc, const char* const* argv, Session& session) {
  session.arguments.assign(argv + std::min(argc, 1), argv + argc);
  CLI::App app{"headscope: what the attention heads of a transformer do to each other", "headscope"};
  app.set_version_flag("--version", "headscope " HEADSCOPE_VERSION);
  app.require_subcommand(1);
  app.footer("Example: headscope inspect path/to/model\n'headscope COMMAND --help' tells more about a command.");
  Command program(&app);
  add_inspect_command(program, session);
  add_relate_command(program, session);
  add_capture_command(program, session);
  add_detect_command(program, session);
  add_organize_command(program, session);
  add_softmax_command(program, session);
  add_report_command(program, session);
  add_demo_command(program, session);
  add_prune_command(program, session);
  add_compare_command(program, session);
  add_reproduce_command(program, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, session.out, session.err);  // --help and --version
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kInvalidArgument, usage_message(app, error));
  }
  session.out.flush();
  if (!session.out) {
    throw Error(ErrorKind::kResource, "cannot write the result to standard output (is the disk full?)");
  }
}

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return kUsage;
    case ErrorKind::kIo:
    case ErrorKind::kFormat:
    case ErrorKind::kUnsupported:
      return kBadInput;
    case ErrorKind::kNumeric:
      return 4;
    case ErrorKind::kBackend:
      return kBackend;
    case ErrorKind::kResource:
      return kResource;
  }
  return kBug;
}

int run(int argc, const char* const* argv, Session session) {
  try {
    if (session.ranks.is_root() || is_shared({argv, static_cast<std::size_t>(argc)})) run_or_throw(argc, argv, session);
    session.ranks.barrier();
    return 0;
  } catch (const RankFailed& failed) {
    return print_failure(session, failed.what(), failed.code());
  } catch (const AgreedError& error) {
    return print_failure(session, error.what(), exit_code(error.kind()));
  } catch (const Error& error) {
    return fail(session, error.what(), exit_code(error.kind()));
  } catch (const Interrupted& interrupted) {
    const char* left = interrupted.kept ? "interrupted; what was finished is kept, the same command goes on from there"
                                        : "interrupted, nothing was written";
    return fail(session, left, 128 + interrupted.signal);
  } catch (const std::bad_alloc&) {
    return fail(session, "out of memory", kResource);
  } catch (const std::exception& error) {
    return fail(session, std::string("internal error: ") + error.what(), kBug);
  }
}

}  // namespace headscope::cli
