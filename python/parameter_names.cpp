#include "parameter_names.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "headscope/app/command.h"

namespace headscope::python {
namespace {

// What a flag is in Python.
struct Parameter {
  std::string text;                       // "max_q", "special=False"
  std::vector<std::string> choices = {};  // values that may follow it
  bool takes_value = true;
};
using Parameters = std::map<std::string, Parameter, std::less<>>;

// Splits "-o,--output".
std::vector<std::string> spellings(const std::string& words) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  while (begin < words.size()) {
    const std::size_t comma = std::min(words.find(',', begin), words.size());
    all.push_back(words.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return all;
}

// Adds the flags of a list that are not there yet.
void add_flags(Parameters& parameters, const OptionList& options) {
  for (const Option& option : options) {
    if (option.is_positional()) continue;
    const Parameter plain{option.parameter(), option.choices(), option.kind() != OptionKind::kFlag};
    for (const std::string& spelling : spellings(option.spelling())) {
      const bool is_off = spelling == "--no-" + option.name();
      parameters.emplace(spelling, is_off ? Parameter{option.parameter() + "=False", {}, false} : plain);
    }
    for (const std::string& spelling : spellings(option.former_spelling())) parameters.emplace(spelling, plain);
  }
  // A flag that is on by default has a positive spelling, too, unless another option has it.
  for (const Option& option : options) {
    if (option.kind() == OptionKind::kFlag) {
      parameters.emplace("--" + option.name(), Parameter{option.parameter(), {}, false});
    }
  }
}

const Parameters& parameters_of_all_commands() {
  static const Parameters kAll = [] {
    Parameters all;
    for (const auto& command : all_commands()) add_flags(all, command->options());
    return all;
  }();
  return kAll;
}

bool is_flag_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// The word at the beginning of a text.
std::string_view first_word(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_flag_character);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Whether a command for the shell is open at the end of the text.
bool is_in_shell_command(std::string_view text) {
  const std::size_t begin = text.rfind("hf download ");
  if (begin == std::string_view::npos) return false;
  const std::string_view command = text.substr(begin);
  return command.find(", ") == std::string_view::npos && command.find("; ") == std::string_view::npos;
}

bool may_follow(const Parameter& parameter, std::string_view word) {
  if (!parameter.takes_value || word.empty()) return false;
  return word == "none" || word == "all" || std::ranges::find(parameter.choices, word) != parameter.choices.end();
}

}  // namespace

std::string with_parameter_names(std::string_view text, const OptionList* options, std::string_view quote) {
  Parameters own;
  if (options != nullptr) add_flags(own, *options);
  own.erase("-o");  // messages about folders of results are the same for all commands
  const auto find = [&](std::string_view flag) -> const Parameter* {
    for (const Parameters* parameters : {static_cast<const Parameters*>(&own), &parameters_of_all_commands()}) {
      const auto found = parameters->find(flag);
      if (found != parameters->end()) return &found->second;
    }
    return nullptr;
  };
  std::string result;
  std::size_t i = 0;
  while (i < text.size()) {
    const bool starts_word = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    const std::string_view flag = starts_word && text[i] == '-' ? first_word(text.substr(i)) : std::string_view();
    const Parameter* parameter = flag.empty() || is_in_shell_command(text.substr(0, i)) ? nullptr : find(flag);
    if (parameter == nullptr) {
      result += text[i++];
      continue;
    }
    i += flag.size();
    result += std::string(quote) + parameter->text;
    if (i < text.size() && (text[i] == ' ' || text[i] == '=')) {
      const std::string_view value = first_word(text.substr(i + 1));
      if (may_follow(*parameter, value)) {
        result += "='" + std::string(value) + "'";
        i += 1 + value.size();
      }
    }
    result += quote;
  }
  return result;
}

}  // namespace headscope::python
