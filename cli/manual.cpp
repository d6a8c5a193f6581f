#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/command_line_words.h"
#include "cli/exit_codes.h"

namespace headscope::cli {
namespace {

using Commands = std::span<const std::unique_ptr<Command>>;

// Text for groff: a dash that can be copied, and nothing that is a request.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  // A line that begins with one of these would be a request.
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

// Help, and the default if there is one.
std::string about(const Option& option) {
  std::string text = sentence(option.command_line_help());
  const std::string value = to_string(option.default_value());
  if (option.kind() != OptionKind::kFlag && !value.empty()) text += fmt::format(" Default: {}.", value);
  if (!option.excluded().empty()) text += fmt::format(" Not together with --{}.", option.excluded());
  return text;
}

// "-o, --output PATH"
std::string spelled(const Option& option) {
  const std::string placeholder = option.placeholder();
  return fmt::format("{}{}{}", fmt::join(option.spellings(), ", "), placeholder.empty() ? "" : " ", placeholder);
}

}  // namespace

std::string manual_page(Commands commands) {
  std::string text = fmt::format(".TH HEADSCOPE 1 \"\" \"headscope {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nheadscope \\- what the attention heads of a transformer do to each other\n";
  text += ".SH SYNOPSIS\n";
  for (const auto& command : commands) {
    text += fmt::format(".br\n{}\n", roff(usage_of(command->info(), CommandLineWords(*command))));
  }
  text +=
      ".SH DESCRIPTION\n"
      "headscope reads a checkpoint from the disk, never from the network, and tells which attention heads read what\n"
      "others write, what they attend to, how they are organized, and which of them can be removed.\n"
      "MODEL is a folder with config.json and safetensors, a .gguf file, or the name of a model in the Hugging Face\n"
      "cache. RUN is a folder of results that commands add to.\n"
      "Results go to standard output, everything else to standard error.\n";
  text += ".SH COMMANDS\n";
  for (const auto& command : commands) {
    const CommandLineWords words(*command);
    text += fmt::format(".SS {}\n{}\n.PP\n.B {}\n", roff(command->info().name),
                        roff(sentence(std::string(command->info().about))), roff(usage_of(command->info(), words)));
    for (const Option* option : words.positional()) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(positional_name(*option)), roff(about(*option)));
    }
    for (const Option* option : words.named()) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(spelled(*option)), roff(about(*option)));
    }
    text += fmt::format(".PP\nExample:\n.B headscope {}\n", roff(command->info().example));
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& one : exit_codes())
    text += fmt::format(".TP\n.B {}\n{}\n", one.code, roff(sentence(std::string(one.meaning))));
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME\nWhere the Hugging Face cache is.\n"
      ".SH SEE ALSO\nThe documentation in share/headscope/docs, and 'headscope help COMMAND'.\n";
  return text;
}

std::string manual_markdown(Commands commands) {
  // Bars would end a cell, and < begin a tag.
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '|' || c == '<') escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  std::string text =
      "# All options\n\n<!-- generated: headscope manual --format markdown > docs/options.md -->\n\n"
      "`headscope help COMMAND` prints the same for one command, `man headscope` and `headscope manual` for all of "
      "them.\n"
      "`headscope completion bash`, `zsh` or `fish` prints a script that completes these words in a shell ([install]"
      "(install.md#completions-and-the-manual-page)). `--max-q` is `max_q` in Python.\n";
  for (const auto& command : commands) {
    const CommandLineWords words(*command);
    text += fmt::format("\n## {}\n\n{}\n\n    {}\n\n| option | meaning |\n| --- | --- |\n", command->info().name,
                        sentence(std::string(command->info().about)), usage_of(command->info(), words));
    for (const Option* option : words.positional()) {
      text += fmt::format("| `{}` | {} |\n", positional_name(*option), cell(about(*option)));
    }
    for (const Option* option : words.named()) {
      text += fmt::format("| `{}` | {} |\n", spelled(*option), cell(about(*option)));
    }
  }
  text += "\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n";
  for (const ExitCode& one : exit_codes()) text += fmt::format("| {} | {} |\n", one.code, one.meaning);
  return text;
}

}  // namespace headscope::cli
