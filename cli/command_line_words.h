#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headscope/app/command.h"

namespace headscope::cli {

/// The options of a command as the command line has them, positional ones first: its own, those of all commands, and
/// --help. The command must outlive it.
class CommandLineWords {
 public:
  explicit CommandLineWords(Command& command);
  CommandLineWords(const CommandLineWords&) = delete;
  CommandLineWords& operator=(const CommandLineWords&) = delete;

  [[nodiscard]] const std::vector<const Option*>& positional() const noexcept { return positional_; }
  [[nodiscard]] const std::vector<const Option*>& named() const noexcept { return named_; }
  /// Returns the option with this spelling, also one that help does not show; null if there is none.
  [[nodiscard]] const Option* find(std::string_view spelling) const;
  /// All spellings that help shows.
  [[nodiscard]] std::vector<std::string> spellings() const;

 private:
  struct Common;
  std::shared_ptr<Common> common_;
  std::vector<const Option*> positional_;
  std::vector<const Option*> named_;
};

/// "usage: headscope relate [OPTIONS] MODEL" without the first word.
[[nodiscard]] std::string usage_of(const CommandInfo& command, const CommandLineWords& words);
/// "MODEL" for the option "model".
[[nodiscard]] std::string positional_name(const Option& option);

}  // namespace headscope::cli
