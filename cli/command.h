#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headscope::cli {

/// An option that was added to a command; says more about it. (CLI11 stays behind these two classes: its headers take
/// longer to compile than any command.)
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// The help shows the value it has now.
  Option& with_default();
  /// Values separated by commas.
  Option& list();
  /// May stand several times, with one value each.
  Option& repeated();
  Option& one_of(const std::vector<std::string>& words);
  Option& between(double least, double most);
  Option& between(std::size_t least, std::size_t most);
  Option& positive();
  Option& not_negative();
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

/// A command of the command line, or the command line itself: names, options, what to do. A view.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  [[nodiscard]] Command add_command(const std::string& name, const std::string& about);
  [[nodiscard]] std::vector<std::string> command_names() const;

  /// `names` as in "-o,--output"; without dashes it goes by its place. The value must live as long as the command line.
  Option add_option(const std::string& names, std::string& value, const std::string& about);
  Option add_option(const std::string& names, std::filesystem::path& value, const std::string& about);
  Option add_option(const std::string& names, std::size_t& value, const std::string& about);
  Option add_option(const std::string& names, double& value, const std::string& about);
  Option add_option(const std::string& names, std::optional<std::size_t>& value, const std::string& about);
  Option add_option(const std::string& names, std::optional<double>& value, const std::string& about);
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& about);
  Option add_option(const std::string& names, std::vector<std::filesystem::path>& values, const std::string& about);
  Option add_option(const std::string& names, const std::function<void(const std::size_t&)>& set,
                    const std::string& about);
  void add_flag(const std::string& names, bool& value, const std::string& about);
  /// An earlier spelling of an option: accepted, but not shown in the help. CLI11 2.4 and later treat `--x` and `-x` as
  /// one name: there an alias `--x` does not exist if `-x` was added before.
  std::optional<Option> add_hidden_alias(const std::string& name, double& value);

  /// Printed below the help.
  void footer(const std::string& text);
  void callback(const std::function<void()>& body);

 private:
  CLI::App* app_;
};

}  // namespace headscope::cli
