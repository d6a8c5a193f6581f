#include "cli/command_line_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/session.h"

namespace headscope::cli {

struct CommandLineWords::Common {
  Common() {
    describe(common, options);
    options.add("help", help, "Show this help").spelled("-h,--help");
  }
  CommonOptions common;
  bool help = false;
  OptionList options;
};

CommandLineWords::CommandLineWords(Command& command) : common_(std::make_shared<Common>()) {
  for (const Option& option : command.options()) (option.is_positional() ? positional_ : named_).push_back(&option);
  for (const Option& option : common_->options) named_.push_back(&option);
}

const Option* CommandLineWords::find(std::string_view spelling) const {
  const auto has = [&](const std::vector<std::string>& all) { return std::ranges::find(all, spelling) != all.end(); };
  for (const Option* option : named_) {
    if (has(option->spellings())) return option;
  }
  for (const Option* option : named_) {
    if (option->former_spelling() == spelling || "--" + option->name() == spelling) return option;
  }
  return nullptr;
}

std::vector<std::string> CommandLineWords::spellings() const {
  std::vector<std::string> all;
  for (const Option* option : named_) {
    for (std::string& spelling : option->spellings()) all.push_back(std::move(spelling));
  }
  return all;
}

std::string positional_name(const Option& option) {
  std::string name = option.name();
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  // "runs" takes RUN RUN ...
  if (option.kind() == OptionKind::kList && name.ends_with('S')) name.pop_back();
  return name;
}

std::string usage_of(const CommandInfo& command, const CommandLineWords& words) {
  std::string text = fmt::format("headscope {}", command.name);
  for (const Option* option : words.positional()) {
    const std::string name = positional_name(*option) + (option->kind() == OptionKind::kList ? " ..." : "");
    text += option->is_required() ? " " + name : " [" + name + "]";
  }
  for (const Option* option : words.named()) {
    if (option->is_required_on_command_line())
      text += fmt::format(" {} {}", option->spellings().front(), option->placeholder());
  }
  return text + " [OPTIONS]";
}

}  // namespace headscope::cli
