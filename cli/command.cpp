#include "cli/command.h"

#include <CLI/CLI.hpp>

namespace headscope::cli {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::with_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::list() {
  option_->delimiter(',');
  return *this;
}

Option& Option::repeated() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::between(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::between(std::size_t least, std::size_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Command Command::add_command(const std::string& name, const std::string& about) {
  return Command(app_->add_subcommand(name, about));
}

std::vector<std::string> Command::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Option Command::add_option(const std::string& names, std::string& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, std::filesystem::path& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, std::size_t& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, double& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, std::optional<std::size_t>& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, std::optional<double>& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& about) {
  return Option(app_->add_option(names, values, about));
}

Option Command::add_option(const std::string& names, std::vector<std::filesystem::path>& values,
                           const std::string& about) {
  return Option(app_->add_option(names, values, about));
}

Option Command::add_option(const std::string& names, const std::function<void(const std::size_t&)>& set,
                           const std::string& about) {
  return Option(app_->add_option_function<std::size_t>(names, set, about));
}

void Command::add_flag(const std::string& names, bool& value, const std::string& about) {
  app_->add_flag(names, value, about);
}

std::optional<Option> Command::add_hidden_alias(const std::string& name, double& value) {
  try {
    return Option(app_->add_option(name, value)->group(""));
  } catch (const CLI::OptionAlreadyAdded&) {
    return std::nullopt;
  }
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::callback(const std::function<void()>& body) {
  app_->callback(body);
}

}  // namespace headscope::cli
