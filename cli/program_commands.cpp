#include "cli/program_commands.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/manual.h"
#include "cli/session.h"
#include "headscope/app/demo.h"

namespace headscope::cli {

void describe(CommonOptions& common, OptionList& options) {
  options.add("json", common.json, "Print the result as JSON").circumstantial();
  options.add("quiet", common.quiet, "Print no progress").spelled("-q,--quiet").circumstantial();
}

std::string summary(const TextOutcome& outcome) {
  return outcome.text;
}

std::string to_json(const TextOutcome& outcome) {
  return nlohmann::ordered_json{{"text", outcome.text}}.dump(2) + "\n";
}

void describe(HelpRequest& request, OptionList& options) {
  std::vector<std::string> names;
  for (const auto& command : all_commands()) names.emplace_back(command->info().name);
  for (const std::string_view name : {DemoRequest::kCommand.name, HelpRequest::kCommand.name,
                                      CompletionRequest::kCommand.name, ManualRequest::kCommand.name}) {
    names.emplace_back(name);
  }
  options.add("command", request.command, "Name of the command").one_of(std::move(names)).positional();
}

std::optional<TextOutcome> run(const HelpRequest& request, const Context& /*context*/) {
  return TextOutcome{request.text ? request.text(request.command) : std::string()};
}

void describe(CompletionRequest& request, OptionList& options) {
  options
      .add("shell", request.shell,
           named_values<Shell>({{Shell::kBash, "bash"}, {Shell::kZsh, "zsh"}, {Shell::kFish, "fish"}}),
           "The shell that reads the script")
      .positional()
      .required();
}

std::optional<TextOutcome> run(const CompletionRequest& request, const Context& /*context*/) {
  return TextOutcome{completion_script(request.shell, program_commands())};
}

void describe(ManualRequest& request, OptionList& options) {
  options.add("format", request.format,
              named_values<ManualFormat>({{ManualFormat::kMan, "man"}, {ManualFormat::kMarkdown, "markdown"}}),
              "man (for man and groff) or markdown (docs/options.md)");
}

std::optional<TextOutcome> run(const ManualRequest& request, const Context& /*context*/) {
  const auto commands = program_commands();
  return TextOutcome{request.format == ManualFormat::kMan ? manual_page(commands) : manual_markdown(commands)};
}

std::vector<std::unique_ptr<Command>> program_commands(const ProgramHooks& hooks) {
  std::vector<std::unique_ptr<Command>> commands = all_commands();
  auto demo = std::make_unique<RequestCommand<DemoRequest>>();
  demo->request.print = hooks.print;
  commands.push_back(std::move(demo));
  auto help = std::make_unique<RequestCommand<HelpRequest>>();
  help->request.text = hooks.help_of;
  commands.push_back(std::move(help));
  commands.push_back(std::make_unique<RequestCommand<CompletionRequest>>());
  commands.push_back(std::make_unique<RequestCommand<ManualRequest>>());
  return commands;
}

}  // namespace headscope::cli
