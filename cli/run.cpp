#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

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
  constexpr std::size_t kLongest = 2000;
  session.err << "headscope: " << printable(message, kLongest) << '\n';
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

// Of the commands, those that ranks share; the others are rank 0's alone.
bool is_shared(const std::vector<std::string>& arguments) {
  return std::ranges::find(arguments, "relate") != arguments.end() ||
         std::ranges::find(arguments, "organize") != arguments.end();
}

// CLI11 looks for a command first: without one it does not say which word it did not know.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const std::string what =
      unknown.empty() ? std::string(error.what()) : "'" + unknown.front() + "' is not expected here";
  return what + "; 'headscope --help' shows the commands";
}

int parse_and_run(int argc, const char* const* argv, Session& session) {
  CLI::App app{"headscope: what the attention heads of a transformer do to each other", "headscope"};
  app.set_version_flag("--version", "headscope " HEADSCOPE_VERSION);
  app.require_subcommand(1);
  app.footer("Example: headscope inspect path/to/model\n'headscope COMMAND --help' tells more about a command.");
  add_inspect_command(app, session);
  add_relate_command(app, session);
  add_capture_command(app, session);
  add_detect_command(app, session);
  add_organize_command(app, session);
  add_softmax_command(app, session);
  add_report_command(app, session);
  add_demo_command(app, session);
  add_prune_command(app, session);
  add_compare_command(app, session);
  add_reproduce_command(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, session.out, session.err);  // --help and --version
  } catch (const CLI::ParseError& error) {
    return fail(session, usage_message(app, error), kUsage);
  }
  session.out.flush();
  if (!session.out) return fail(session, "cannot write the result to standard output (is the disk full?)", kResource);
  return 0;
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
  session.arguments.assign(argv + std::min(argc, 1), argv + argc);
  try {
    const bool works = session.ranks.is_root() || is_shared(session.arguments);
    const int code = works ? parse_and_run(argc, argv, session) : 0;
    if (code == 0) session.ranks.barrier();
    return code;
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
