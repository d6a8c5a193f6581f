#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "cli/command_line_words.h"
#include "headscope/base/error.h"
#include "headscope/base/spelling.h"

namespace headscope::cli {
namespace {

using Commands = std::span<const std::unique_ptr<Command>>;

constexpr std::size_t kMaxLength = 60;

std::string shown(std::string_view word) {
  return "'" + printable(word, kMaxLength) + "'";
}

// The name of an option in a word: "--top" of "--top=5".
std::string_view name_in(std::string_view word) {
  return word.substr(0, word.find('='));
}

// Whether a word is an option rather than a value: "-" and "-5" are values.
bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

std::string unknown_command(const std::string& word, Commands commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.emplace_back(command->info().name);
  std::error_code ignored;
  if (!word.empty() && std::filesystem::exists(word, ignored)) {
    return fmt::format("{} is not a command; what it is: headscope inspect {}; 'headscope --help' shows the commands",
                       shown(word), printable(word, kMaxLength));
  }
  return fmt::format("{} is not a command{}; 'headscope --help' shows the commands", shown(word),
                     did_you_mean(word, names));
}

// Options before the name of a command.
std::string before_command(std::string_view word, Commands commands) {
  const std::vector<std::string> own = {"-h", "--help", "-V", "--version"};
  if (const std::string meant = did_you_mean(word, own); !meant.empty()) {
    return fmt::format("{} is no option{}", shown(word), meant);
  }
  for (const auto& command : commands) {
    if (CommandLineWords(*command).find(word) == nullptr) continue;
    return fmt::format("{} stands before the command; options come after it: headscope {}", shown(word),
                       command->info().example);
  }
  return fmt::format("{} is no option; 'headscope --help' shows the commands", shown(word));
}

// An option that the command does not have.
std::string unknown_option(std::string_view name, const Command& command, const CommandLineWords& words,
                           Commands commands) {
  const std::string_view own = command.info().name;
  std::vector<std::string> spellings = words.spellings();
  for (const Option* option : words.positional()) {
    if (name != "--" + option->name()) continue;
    return fmt::format("{} has no option {}: write the {} without it, e.g. headscope {}", own, shown(name),
                       positional_name(*option), command.info().example);
  }
  if (const std::string meant = did_you_mean(name, spellings); !meant.empty()) {
    return fmt::format("{} has no option {}{}", own, shown(name), meant);
  }
  std::vector<std::string_view> others;
  for (const auto& other : commands) {
    if (CommandLineWords(*other).find(name) != nullptr) others.push_back(other->info().name);
  }
  if (others.empty()) return fmt::format("{} has no option {}", own, shown(name));
  return fmt::format("{} has no option {}; {} {}", own, shown(name), fmt::join(others, ", "),
                     others.size() == 1 ? "has it" : "have it");
}

// What is wrong with the words after the name of a command; nothing if they look right.
std::optional<std::string> find_mistake(std::span<const std::string> rest, Command& command, Commands commands) {
  const CommandLineWords words(command);
  const std::string_view own = command.info().name;
  std::set<const Option*> seen;
  std::vector<std::string> values;  // positional ones
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string& word = rest[i];
    if (!is_option(word)) {
      values.push_back(word);
      continue;
    }
    const std::string_view name = name_in(word);
    const Option* option = words.find(name);
    if (option == nullptr) return unknown_option(name, command, words, commands);
    seen.insert(option);
    if (option->kind() == OptionKind::kFlag) {
      if (name.size() < word.size()) return fmt::format("{} takes no value, found {}", name, shown(word));
      continue;
    }
    if (name.size() < word.size()) continue;  // --top=5
    if (i + 1 == rest.size()) return fmt::format("{} needs a value: {}", name, option->help());
    ++i;
    while (option->takes_several() && i + 1 < rest.size() && !is_option(rest[i + 1])) ++i;
  }
  const std::vector<const Option*>& positional = words.positional();
  const bool takes_all = !positional.empty() && positional.back()->kind() == OptionKind::kList;
  if (values.size() > positional.size() && !takes_all) {
    const std::string takes = positional.empty() ? "no argument" : "one " + positional_name(*positional.front());
    return fmt::format("{} is too much: {} takes {}", shown(values[positional.size()]), own, takes);
  }
  for (std::size_t i = values.size(); i < positional.size(); ++i) {
    if (!positional[i]->is_required()) continue;
    return fmt::format("{} needs a {} ({}), e.g. headscope {}", own, positional_name(*positional[i]),
                       positional[i]->help(), command.info().example);
  }
  for (const Option* option : words.named()) {
    if (!option->is_required_on_command_line() || seen.contains(option)) continue;
    return fmt::format("{} needs {} ({}), e.g. headscope {}", own, fmt::join(option->spellings(), " or "),
                       option->help(), command.info().example);
  }
  return std::nullopt;
}

}  // namespace

std::string usage_message(std::span<const std::string> words, Commands commands, std::string_view otherwise) {
  if (words.empty()) {
    return "no command given, expected one such as headscope inspect MODEL; 'headscope --help' lists them";
  }
  if (is_option(words.front())) return before_command(name_in(words.front()), commands);
  const auto command =
      std::ranges::find_if(commands, [&](const auto& one) { return one->info().name == words.front(); });
  if (command == commands.end()) return unknown_command(words.front(), commands);
  const std::string_view name = (*command)->info().name;
  const std::string mistake =
      find_mistake(words.subspan(1), **command, commands).value_or(fmt::format("{}: {}", name, otherwise));
  return fmt::format("{}; 'headscope {} --help' shows its options", mistake, name);
}

}  // namespace headscope::cli
