#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/add_command.h"
#include "cli/interrupt.h"
#include "headscope/app/command.h"
#include "headscope/app/demo.h"

namespace headscope::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kBadInput = 3;
constexpr int kBackend = 5;
constexpr int kResource = 6;
constexpr int kBug = 70;

// Names in messages come from files and arguments. Whatever they contain, a message is one line of limited length.
int print_failure(Session& session, const std::string& message, int code) {
  constexpr std::size_t kMaxLength = 2000;
  session.err << "headscope: " << printable(message, kMaxLength) << '\n';
  return code;
}

// A failure of one rank is a failure of all, and rank 0 prints it. If one rank cannot read what another can, the input
// is not at fault.
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

// Whether ranks share the work of the command; other commands run on rank 0 alone. The command is the first word after
// the program's name that is not an option: later words may be folders with the name of a command.
bool is_collective(std::span<const char* const> arguments) {
  const auto words = arguments.subspan(std::min<std::size_t>(1, arguments.size()));
  const auto name = std::ranges::find_if(words, [](std::string_view word) { return !word.starts_with('-'); });
  if (name == words.end()) return false;
  return std::ranges::any_of(all_commands(), [&](const auto& command) {
    return command->info().name == std::string_view(*name) && command->info().is_collective;
  });
}

// CLI11 looks for a command first: without one it does not say which word it did not know.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const std::string what =
      unknown.empty() ? std::string(error.what()) : "'" + unknown.front() + "' is not expected here";
  return what + "; 'headscope --help' shows the commands";
}

void parse_and_run(int argc, const char* const* argv, Session& session) {
  CLI::App app{"headscope: what the attention heads of a transformer do to each other", "headscope"};
  app.set_version_flag("--version", "headscope " + std::string(version()));
  app.require_subcommand(1);
  app.footer("Example: headscope inspect path/to/model\n'headscope COMMAND --help' describes a command.");
  const std::vector<std::unique_ptr<Command>> commands = all_commands();
  for (const auto& command : commands) add_command(app, *command, session);
  RequestCommand<DemoRequest> demo;
  demo.request.print = [&](std::string_view text) { session.out << text << std::flush; };
  add_command(app, demo, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& requested) {
    app.exit(requested, session.out, session.err);  // --help and --version
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kInvalidArgument, usage_message(app, error));
  }
  session.out.flush();
  if (!session.out) {
    throw Error(ErrorKind::kResource, "cannot write the result to standard output (is the disk full?)");
  }
}

}  // namespace

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
    if (session.ranks.is_root() || is_collective({argv, static_cast<std::size_t>(argc)}))
      parse_and_run(argc, argv, session);
    session.ranks.barrier();
    return 0;
  } catch (const RankFailed& failed) {
    return print_failure(session, failed.what(), failed.code());
  } catch (const AgreedError& error) {
    return print_failure(session, error.what(), exit_code(error.kind()));
  } catch (const Error& error) {
    return fail(session, error.what(), exit_code(error.kind()));
  } catch (const Interrupted& interrupted) {
    const char* left = interrupted.resumable
                           ? "interrupted; finished parts are kept, and the same command continues from there"
                           : "interrupted; the unfinished result was not written";
    return fail(session, left, 128 + interrupted.signal);
  } catch (const std::bad_alloc&) {
    return fail(session, "out of memory", kResource);
  } catch (const std::exception& error) {
    return fail(session, std::string("internal error: ") + error.what(), kBug);
  }
}

}  // namespace headscope::cli
