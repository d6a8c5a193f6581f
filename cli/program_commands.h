#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/completion.h"
#include "headscope/app/command.h"

namespace headscope::cli {

// Commands of the program itself. They are described as all others are, so that help, completions and the manual know
// them.

struct TextOutcome {
  std::string text;
  RunFiles files = {};  ///< Always empty.
};
[[nodiscard]] std::string summary(const TextOutcome& outcome);
[[nodiscard]] std::string to_json(const TextOutcome& outcome);

/// The help of a command, or of the program.
struct HelpRequest {
  static constexpr CommandInfo kCommand = {
      .name = "help", .about = "Show the help of a command", .example = "help relate"};

  std::string command = {};
  /// Returns the help of a command; of the program if the name is empty.
  std::function<std::string(const std::string&)> text = {};
};
void describe(HelpRequest& request, OptionList& options);
[[nodiscard]] std::optional<TextOutcome> run(const HelpRequest& request, const Context& context = {});

/// A script that lets a shell complete commands, options and values.
struct CompletionRequest {
  static constexpr CommandInfo kCommand = {
      .name = "completion",
      .about = "Print a script that completes command lines in bash, zsh or fish",
      .example = "completion bash > ~/.local/share/bash-completion/completions/headscope"};

  Shell shell = Shell::kBash;
};
void describe(CompletionRequest& request, OptionList& options);
[[nodiscard]] std::optional<TextOutcome> run(const CompletionRequest& request, const Context& context = {});

enum class ManualFormat { kMan, kMarkdown };

/// All commands with all options.
struct ManualRequest {
  static constexpr CommandInfo kCommand = {
      .name = "manual", .about = "Print the manual page", .example = "manual | man -l -"};

  ManualFormat format = ManualFormat::kMan;
};
void describe(ManualRequest& request, OptionList& options);
[[nodiscard]] std::optional<TextOutcome> run(const ManualRequest& request, const Context& context = {});

/// What commands need of the program that runs them.
struct ProgramHooks {
  std::function<void(std::string_view)> print = {};             ///< Prints what `demo` finds as it goes.
  std::function<std::string(const std::string&)> help_of = {};  ///< As `HelpRequest::text`.
};

/// All commands of the command line, in the order in which help lists them.
[[nodiscard]] std::vector<std::unique_ptr<Command>> program_commands(const ProgramHooks& hooks = {});

}  // namespace headscope::cli
