#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "cli/command_line_words.h"

namespace headscope::cli {
namespace {

using Commands = std::span<const std::unique_ptr<Command>>;

// What can be completed of a value.
enum class Value { kNone, kWord, kWords, kPath, kOther };

Value value_of(const Option& option) {
  if (option.kind() == OptionKind::kFlag) return Value::kNone;
  if (!option.offers().empty()) return option.kind() == OptionKind::kList ? Value::kWords : Value::kWord;
  return option.holds_paths() ? Value::kPath : Value::kOther;
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  while (true) {
    const std::size_t found = text.find(what);
    result += text.substr(0, found);
    if (found == std::string_view::npos) return result;
    result += by;
    text.remove_prefix(found + what.size());
  }
}

// A word between apostrophes for bash and zsh.
std::string shell_word(std::string_view text) {
  return "'" + replace_all(text, "'", "'\\''") + "'";
}

std::string names_of(Commands commands) {
  std::string names;
  for (const auto& command : commands) names += (names.empty() ? "" : " ") + std::string(command->info().name);
  return names;
}

std::string with_first(Value value) {
  return value == Value::kWord    ? "_headscope_words"
         : value == Value::kWords ? "_headscope_list"
         : value == Value::kPath  ? "_headscope_paths"
                                  : ":";
}

std::string bash_action(const Option& option) {
  return option.offers().empty() ? with_first(value_of(option))
                                 : fmt::format("{} {}", with_first(value_of(option)),
                                               shell_word(fmt::format("{}", fmt::join(option.offers(), " "))));
}

constexpr std::string_view kBashBegin = R"(# Completions of headscope for bash. Written by: headscope completion bash

_headscope_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

# The last of several values between commas.
_headscope_list() {
  local before=""
  [[ $cur == *,* ]] && before="${cur%,*},"
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "${cur##*,}"))
  compopt -o nospace 2> /dev/null
}

_headscope_paths() {
  compopt -o filenames 2> /dev/null
  local IFS=$'\n'
  COMPREPLY=($(compgen -f -- "$cur"))
}

_headscope() {
  local cur="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command="${COMP_WORDS[i]}"; break; }
  done
  # bash takes --metric=pk for three words.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $previous == "=" ]]; then previous="${COMP_WORDS[COMP_CWORD - 2]}"; fi
  case "$command" in
)";

std::string bash_script(Commands commands) {
  std::string text(kBashBegin);
  text += fmt::format("    '') _headscope_words '{} --help --version' ;;\n", names_of(commands));
  for (const auto& command : commands) {
    const CommandLineWords words(*command);
    text += fmt::format("    {})\n      case \"$previous\" in\n", command->info().name);
    for (const Option* option : words.named()) {
      if (value_of(*option) == Value::kNone) continue;
      std::vector<std::string> spellings = option->spellings();
      if (!option->former_spelling().empty()) spellings.push_back(option->former_spelling());
      text += fmt::format("        {}) {}; return ;;\n", fmt::join(spellings, " | "), bash_action(*option));
    }
    text += "      esac\n";
    const std::string other = words.positional().empty() ? ":" : bash_action(*words.positional().front());
    text += fmt::format("      if [[ $cur == -* ]]; then _headscope_words {}; else {}; fi ;;\n",
                        shell_word(fmt::format("{}", fmt::join(words.spellings(), " "))), other);
  }
  return text + "  esac\n}\n\ncomplete -F _headscope headscope\n";
}

// Text inside the brackets of a specification of zsh's _arguments, itself between apostrophes.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return replace_all(escaped, "'", "'\\''");
}

std::string zsh_action(const Option& option) {
  switch (value_of(option)) {
    case Value::kWord:
      return fmt::format("({})", fmt::join(option.offers(), " "));
    case Value::kWords:
      return fmt::format("_values -s , {} {}", option.name(), fmt::join(option.offers(), " "));
    case Value::kPath:
      return "_files";
    case Value::kNone:
    case Value::kOther:
      break;
  }
  return " ";
}

std::string zsh_script(Commands commands) {
  std::string text =
      "#compdef headscope\n# Completions of headscope for zsh. Written by: headscope completion zsh\n\n"
      "_headscope() {\n  local curcontext=\"$curcontext\" state line\n  local -a commands\n  commands=(\n";
  for (const auto& command : commands) {
    text += fmt::format("    '{}:{}'\n", command->info().name, zsh_text(command->info().about));
  }
  text +=
      "  )\n  _arguments -C '(- *)'{-h,--help}'[Show this help]' '(- *)'{-V,--version}'[Show the version]' \\\n"
      "    '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $line[1] in\n";
  for (const auto& command : commands) {
    const CommandLineWords words(*command);
    text += fmt::format("        {})\n          _arguments", command->info().name);
    for (const Option* option : words.named()) {
      const std::string more = option->kind() == OptionKind::kList ? "*" : "";
      for (const std::string& spelling : option->spellings()) {
        const char* form = value_of(*option) != Value::kNone && spelling.starts_with("--") ? "=" : "";
        text +=
            fmt::format(" \\\n            '{}{}{}[{}]", more, spelling, form, zsh_text(option->command_line_help()));
        if (value_of(*option) != Value::kNone) text += fmt::format(":{}:{}", option->name(), zsh_action(*option));
        text += "'";
      }
    }
    for (const Option* option : words.positional()) {
      const std::string where = option->kind() == OptionKind::kList ? "*" : "1";
      text += fmt::format(" \\\n            '{}:{}:{}'", where, option->name(),
                          value_of(*option) == Value::kOther ? "_files" : zsh_action(*option));
    }
    text += " ;;\n";
  }
  return text +
         "      esac ;;\n  esac\n}\n\n[[ $funcstack[1] == _headscope ]] && _headscope \"$@\" || compdef _headscope "
         "headscope\n";
}

// A word between apostrophes for fish.
std::string fish_text(std::string_view text) {
  return "'" + replace_all(replace_all(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_action(const Option& option) {
  const std::string offers = fish_text(fmt::format("{}", fmt::join(option.offers(), " ")));
  switch (value_of(option)) {
    case Value::kNone:
      return "";
    case Value::kWord:
      return " -x -a " + offers;
    case Value::kWords:
      return fmt::format(" -x -a '(__fish_complete_list , \"echo {}\")'", fmt::join(option.offers(), "; echo "));
    case Value::kPath:
      return " -r -F";
    case Value::kOther:
      break;
  }
  return " -x";
}

std::string fish_script(Commands commands) {
  std::string text = "# Completions of headscope for fish. Written by: headscope completion fish\n\n";
  text += "complete -c headscope -f\n";
  text += "complete -c headscope -n __fish_use_subcommand -s h -l help -d 'Show this help'\n";
  text += "complete -c headscope -n __fish_use_subcommand -s V -l version -d 'Show the version'\n";
  for (const auto& command : commands) {
    text += fmt::format("complete -c headscope -n __fish_use_subcommand -a {} -d {}\n", command->info().name,
                        fish_text(command->info().about));
  }
  for (const auto& command : commands) {
    const CommandLineWords words(*command);
    const std::string begin =
        fmt::format("complete -c headscope -n '__fish_seen_subcommand_from {}'", command->info().name);
    for (const Option* option : words.named()) {
      text += begin;
      for (const std::string& spelling : option->spellings()) {
        const bool is_long = spelling.starts_with("--");
        text += fmt::format(" {} {}", is_long ? "-l" : "-s", spelling.substr(is_long ? 2 : 1));
      }
      text += fmt::format("{} -d {}\n", fish_action(*option), fish_text(option->command_line_help()));
    }
    for (const Option* option : words.positional()) {
      text += begin + (option->offers().empty() ? " -F" : fish_action(*option)) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(Shell shell, Commands commands) {
  switch (shell) {
    case Shell::kBash:
      return bash_script(commands);
    case Shell::kZsh:
      return zsh_script(commands);
    case Shell::kFish:
      return fish_script(commands);
  }
  return {};
}

}  // namespace headscope::cli
