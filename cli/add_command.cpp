#include "cli/add_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace headscope::cli {
namespace {

using Words = std::vector<std::string>;

// Adds a spelling that help does not show. CLI11 2.4 and later treat --x and -x as one name: such a spelling is left
// out.
template <typename Add>
void add_hidden(const Add& add) {
  try {
    add()->group("");
  } catch (const CLI::OptionAlreadyAdded&) {
  }
}

void add_flag(CLI::App& app, Option& option) {
  const bool on = std::get<bool>(option.default_value());
  const auto set = [&option](bool value) { return [&option, value] { option.set_value(value); }; };
  app.add_flag_callback(option.spelling(), set(!on), option.help());
  if (on) add_hidden([&] { return app.add_flag_callback("--" + option.name(), set(true)); });
}

CLI::Option* add_value(CLI::App& app, const std::string& spelling, Option& option) {
  const bool list = option.kind() == OptionKind::kList;
  const std::string help = option.command_line_help();
  CLI::Option* added = list ? app.add_option_function<Words>(
                                  spelling, [&option](const Words& words) { option.set_words(words); }, help)
                            : app.add_option_function<std::string>(
                                  spelling, [&option](const std::string& word) { option.set_words({word}); }, help);
  added->type_name(option.placeholder());
  if (list && option.is_repeated() && !option.is_positional()) added->allow_extra_args(option.takes_several());
  const std::string text = to_string(option.default_value());
  if (!text.empty()) added->default_str(text);
  return added;
}

void add_options(CLI::App& app, OptionList& options) {
  for (Option& option : options) {
    if (option.kind() == OptionKind::kFlag) {
      add_flag(app, option);
      continue;
    }
    CLI::Option* added = add_value(app, option.spelling(), option);
    if (option.is_required_on_command_line()) added->required();
  }
  for (Option& option : options) {
    if (!option.excluded().empty()) {
      app.get_option(option.flag())->excludes(app.get_option("--" + option.excluded()));
    }
  }
}

// After all other options, since these must win over a former spelling.
void add_former_spellings(CLI::App& app, OptionList& options) {
  for (Option& option : options) {
    if (option.former_spelling().empty()) continue;
    add_hidden([&] { return add_value(app, option.former_spelling(), option); });
  }
}

Context make_context(Session& session, Progress& progress) {
  Context context;
  context.ranks = session.ranks;
  context.whole_process = true;
  context.on_progress = [&](std::string_view stage, double fraction) { progress.reach(stage, fraction); };
  context.poll = check_for_interrupt;
  context.log = [&](std::string_view line) {
    if (!session.common.quiet) session.err << line << '\n';
  };
  return context;
}

}  // namespace

void add_command(CLI::App& program, Command& command, OptionList& common, Session& session) {
  CLI::App* app = program.add_subcommand(std::string(command.info().name), std::string(command.info().about));
  app->set_help_flag("-h,--help", "Show this help");
  add_options(*app, command.options());
  add_options(*app, common);
  add_former_spellings(*app, command.options());
  app->footer(fmt::format("Example: headscope {}\n{}", command.info().example, exit_codes_line()));
  app->callback([&command, &session] {
    watch_for_interrupts(session.ranks.size() > 1);
    std::optional<CommandOutput> output;
    {
      Progress progress(session);
      output = command.run(make_context(session, progress));
    }
    if (output) session.out << (session.common.json ? output->json : output->summary);
  });
}

}  // namespace headscope::cli
