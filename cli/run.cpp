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
#include "cli/program_commands.h"
#include "cli/usage.h"
#include "headscope/app/command.h"

namespace headscope::cli {
namespace {

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

// What most people want, above all that the program can do.
std::string introduction() {
  return "headscope: what the attention heads of a transformer do to each other\n\n"
         "Start with:\n"
         "  headscope inspect MODEL              what a checkpoint is, and what can be done with it\n"
         "  headscope relate MODEL -o RUN        which heads read what other heads write\n"
         "  headscope report RUN -o RUN.html     all results of a RUN on one page\n"
         "'headscope demo' shows everything on two small models that come with it.\n";
}

void parse_and_run(int argc, const char* const* argv, Session& session) {
  CLI::App app{introduction(), "headscope"};
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("-V,--version", "headscope " + std::string(version()), "Show the version");
  app.require_subcommand(1);
  app.footer("'headscope help COMMAND' describes a command.\n" + exit_codes_line());
  const auto help_of = [&app](const std::string& command) {
    // The help of a program whose command is running would be that of the command.
    return command.empty() ? app.get_formatter()->make_help(&app, "headscope", CLI::AppFormatMode::Normal)
                           : app.get_subcommand(command)->help("headscope");
  };
  const auto print = [&session](std::string_view text) {
    if (!session.common.json) session.out << text << std::flush;
  };
  OptionList common;
  describe(session.common, common);
  const std::vector<std::unique_ptr<Command>> commands = program_commands({.print = print, .help_of = help_of});
  for (const auto& command : commands) add_command(app, *command, common, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& requested) {
    app.exit(requested, session.out, session.err);  // --help and --version
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    throw Error(ErrorKind::kInvalidArgument, usage_message(words, commands, error.what()));
  }
  session.out.flush();
  if (!session.out) {
    throw Error(ErrorKind::kResource, "cannot write the result to standard output (is the disk full?)");
  }
}

}  // namespace

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
