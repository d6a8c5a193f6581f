#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headscope {

// The options of a request, spelled once: name, default, help, checks. The command line, the Python package, the
// manifest and the documentation all read this description.

/// A value of an option in a form that every front end can produce and show. Nothing means that an option without a
/// default was not given.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

enum class OptionKind {
  kFlag,     ///< True or false.
  kInteger,  ///< A non-negative integer.
  kNumber,
  kText,
  kPath,
  kList,  ///< Texts; on the command line separated by commas, or repeated.
};

/// How values of another type are written as text.
template <typename T>
struct TextForm {
  /// Returns the values that a text stands for (one, unless it is an element of a list, e.g. a range), or nothing if it
  /// stands for none.
  std::function<std::optional<std::vector<T>>(const std::string&)> parse;
  std::function<std::string(const T&)> format;
  /// What a text must be, e.g. "a pair of roles such as OQ". Not used if there are choices.
  std::string expected = {};
  /// All valid texts, if they can be listed.
  std::vector<std::string> choices = {};
  /// Some valid texts, for suggestions and completions, if there are too many to list in help.
  std::vector<std::string> examples = {};
};

/// Returns the text form of an enumeration.
template <typename Enum>
[[nodiscard]] TextForm<Enum> named_values(std::vector<std::pair<Enum, std::string>> names) {
  TextForm<Enum> form;
  for (const auto& [value, name] : names) form.choices.push_back(name);
  form.parse = [names](const std::string& text) -> std::optional<std::vector<Enum>> {
    const auto found = std::ranges::find(names, text, [](const auto& entry) { return entry.second; });
    if (found == names.end()) return std::nullopt;
    return std::vector{found->first};
  };
  form.format = [names](const Enum& value) {
    return std::ranges::find(names, value, [](const auto& entry) { return entry.first; })->second;
  };
  return form;
}

/// One option of a request: its description, and access to the value in the request.
class Option {
 public:
  // Description, in the order in which `OptionList::add` is followed by these calls.

  /// Goes by its place on the command line; the first parameter in Python.
  Option& positional() { return set(positional_); }
  Option& required() { return set(required_); }
  /// Required on the command line, while Python and C++ have a meaning for its absence.
  Option& required_on_command_line() { return set(required_on_command_line_); }
  /// On the command line values are not split at commas: they may contain them. Every text needs its own option;
  /// several paths may follow one.
  Option& repeated() { return set(repeated_); }
  /// Does not determine the result, so that it is not part of the identity in the manifest.
  Option& circumstantial() { return set(circumstantial_); }
  /// Only on the command line: the Python package has another way to say it.
  Option& command_line_only() { return set(command_line_only_); }
  /// A folder of results: neither empty nor standard output.
  Option& names_folder() { return set(names_folder_); }
  /// Smallest and largest value.
  Option& between(double min, double max);
  Option& at_least(double min) { return between(min, std::numeric_limits<double>::infinity()); }
  /// Values must be greater than this; after `between`, which says how large they may be.
  Option& above(double limit);
  /// Valid texts of a text or list option.
  Option& one_of(std::vector<std::string> choices);
  /// Some valid texts, for suggestions and completions; others may be valid too.
  Option& examples(std::vector<std::string> texts);
  /// Must not be given together with another option.
  Option& excludes(std::string name);
  /// Spelling on the command line if it differs from --name, e.g. "-o,--output".
  Option& spelled(std::string words);
  /// An earlier spelling that is still accepted on the command line.
  Option& formerly(std::string words);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< E.g. "max-q".
  [[nodiscard]] const std::string& help() const noexcept { return help_; }
  [[nodiscard]] OptionKind kind() const noexcept { return kind_; }
  /// Whether its texts are names of files or folders.
  [[nodiscard]] bool holds_paths() const noexcept { return holds_paths_; }
  /// Whether the digits of an integer are a valid text.
  [[nodiscard]] bool takes_integers() const noexcept { return takes_integers_; }
  [[nodiscard]] bool is_folder() const noexcept { return names_folder_; }
  [[nodiscard]] bool is_positional() const noexcept { return positional_; }
  [[nodiscard]] bool is_required() const noexcept { return required_; }
  [[nodiscard]] bool is_required_on_command_line() const noexcept { return required_ || required_on_command_line_; }
  [[nodiscard]] bool is_repeated() const noexcept { return repeated_; }
  [[nodiscard]] bool is_circumstantial() const noexcept { return circumstantial_; }
  [[nodiscard]] bool is_command_line_only() const noexcept { return command_line_only_; }
  [[nodiscard]] const std::vector<std::string>& choices() const noexcept { return choices_; }
  /// Texts that a completion offers: the choices, or else the examples.
  [[nodiscard]] const std::vector<std::string>& offers() const noexcept {
    return choices_.empty() ? examples_ : choices_;
  }
  [[nodiscard]] const std::string& excluded() const noexcept { return excluded_; }
  [[nodiscard]] const std::string& former_spelling() const noexcept { return former_; }
  /// Spelling on the command line: "model", "--max-q", "-o,--output". A flag that is set by default is switched off by
  /// --no-NAME.
  [[nodiscard]] std::string spelling() const;
  /// All spellings on the command line: {"-o", "--output"}. Empty for a positional argument.
  [[nodiscard]] std::vector<std::string> spellings() const;
  /// What help shows in place of a value, e.g. "INTEGER" or "{pk,cs}". Empty for a flag.
  [[nodiscard]] std::string placeholder() const;
  /// Help with what the command line adds to it: whether values may be repeated or follow one another.
  [[nodiscard]] std::string command_line_help() const;
  /// Whether several values may follow one spelling on the command line, as a shell writes them for photos/*.png.
  [[nodiscard]] bool takes_several() const noexcept;
  /// The long form of it, for messages.
  [[nodiscard]] std::string flag() const;
  /// Name of the parameter in Python: "max_q".
  [[nodiscard]] std::string parameter() const;

  [[nodiscard]] OptionValue value() const { return get_(); }
  /// The value in a request to which nothing was set.
  [[nodiscard]] const OptionValue& default_value() const noexcept { return default_; }
  /// \throws Error  kInvalidArgument if the value is of another kind, out of range or unknown.
  void set_value(const OptionValue& value);
  /// Parses words of a command line. \throws Error  as `set_value`.
  void set_words(const std::vector<std::string>& words);

 private:
  friend class OptionList;
  Option(std::string name, OptionKind kind, std::string help)
      : name_(std::move(name)), help_(std::move(help)), kind_(kind) {}
  Option& set(bool& flag) {
    flag = true;
    return *this;
  }
  [[nodiscard]] OptionValue parse(const std::vector<std::string>& words) const;
  [[noreturn]] void reject(const std::string& found, const std::string& expected) const;
  void check_choices(const std::vector<std::string>& texts) const;
  void check_folder(const std::string& text) const;
  void check_range(double number, const std::string& found) const;
  [[nodiscard]] std::string expected_number() const;

  std::string name_;
  std::string help_;
  OptionKind kind_;
  bool holds_paths_ = false;
  bool takes_integers_ = false;
  bool positional_ = false;
  bool required_ = false;
  bool required_on_command_line_ = false;
  bool repeated_ = false;
  bool circumstantial_ = false;
  bool command_line_only_ = false;
  bool names_folder_ = false;
  double min_ = -std::numeric_limits<double>::infinity();
  double max_ = std::numeric_limits<double>::infinity();
  bool excludes_min_ = false;
  std::vector<std::string> choices_;
  std::vector<std::string> examples_;
  std::string excluded_;
  std::string spelling_;
  std::string former_;
  OptionValue default_;
  std::function<OptionValue()> get_;
  std::function<void(const OptionValue&)> put_;
};

/// The options of one request. The request must outlive the list.
class OptionList {
 public:
  OptionList() = default;
  OptionList(OptionList&&) = default;
  OptionList& operator=(OptionList&&) = default;
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;
  ~OptionList() = default;

  Option& add(std::string name, bool& field, std::string help);
  Option& add(std::string name, std::size_t& field, std::string help);
  Option& add(std::string name, std::optional<std::size_t>& field, std::string help);
  Option& add(std::string name, double& field, std::string help);
  Option& add(std::string name, std::optional<double>& field, std::string help);
  Option& add(std::string name, std::string& field, std::string help);
  Option& add(std::string name, std::filesystem::path& field, std::string help);
  Option& add(std::string name, std::vector<std::string>& field, std::string help);
  Option& add(std::string name, std::vector<std::filesystem::path>& field, std::string help);
  /// A value with a text form.
  template <typename T>
  Option& add(std::string name, T& field, const TextForm<T>& form, std::string help);
  /// The same; without a value if the text is empty.
  template <typename T>
  Option& add(std::string name, std::optional<T>& field, const TextForm<T>& form, std::string help);
  /// A list of such values, without duplicates.
  template <typename T>
  Option& add(std::string name, std::vector<T>& field, const TextForm<T>& form, std::string help);

  [[nodiscard]] auto begin() { return options_.begin(); }
  [[nodiscard]] auto end() { return options_.end(); }
  [[nodiscard]] auto begin() const { return options_.begin(); }
  [[nodiscard]] auto end() const { return options_.end(); }
  /// Finds an option by its name or its Python parameter; null if there is none.
  [[nodiscard]] Option* find(std::string_view name) noexcept;

  /// \throws Error  kInvalidArgument if two options that exclude each other both differ from their defaults. The
  /// command
  ///                line rejects them even if they do not.
  void check_exclusions() const;
  /// Takes the defaults from the list of a request to which nothing was set.
  void set_defaults(const OptionList& defaults);
  /// The options that determine the result, as texts by parameter name.
  [[nodiscard]] std::map<std::string, std::string> identity() const;
  /// The words that set the options which differ from their defaults.
  [[nodiscard]] std::vector<std::string> words() const;

 private:
  Option& add(std::string name, OptionKind kind, std::string help, std::function<OptionValue()> get,
              std::function<void(const OptionValue&)> put);
  /// \throws Error  kInvalidArgument, with the name of the option, what was found and what is expected.
  template <typename T>
  [[noreturn]] static void reject(const std::string& name, const std::string& found, const TextForm<T>& form) {
    reject(name, found, form.expected, form.choices, form.examples);
  }
  [[noreturn]] static void reject(const std::string& name, const std::string& found, const std::string& expected,
                                  const std::vector<std::string>& choices, const std::vector<std::string>& examples);

  std::deque<Option> options_;  // a deque, so that references stay valid
};

/// The options of a request, with its defaults. `describe(Request&, OptionList&)` adds them.
template <typename Request>
[[nodiscard]] OptionList options_of(Request& request) {
  Request unset;
  OptionList defaults;
  describe(unset, defaults);
  OptionList options;
  describe(request, options);
  options.set_defaults(defaults);
  return options;
}

/// Whether a path stands for standard output: "-" or "/dev/stdout".
[[nodiscard]] bool is_standard_output(const std::filesystem::path& path);

/// Text of a value as the command line would have it; lists are joined by commas.
[[nodiscard]] std::string to_string(const OptionValue& value);

template <typename T>
Option& OptionList::add(std::string name, T& field, const TextForm<T>& form, std::string help) {
  Option& option = add(
      name, OptionKind::kText, std::move(help), [&field, form]() -> OptionValue { return form.format(field); },
      [&field, form, name](const OptionValue& value) {
        const auto& text = std::get<std::string>(value);
        const auto parsed = form.parse(text);
        if (!parsed || parsed->size() != 1) reject(name, text, form);
        field = parsed->front();
      });
  option.takes_integers_ = form.parse("1").has_value();
  option.examples_ = form.examples;
  return option.one_of(form.choices);
}

template <typename T>
Option& OptionList::add(std::string name, std::optional<T>& field, const TextForm<T>& form, std::string help) {
  Option& option = add(
      name, OptionKind::kText, std::move(help),
      [&field, form]() -> OptionValue { return field ? OptionValue(form.format(*field)) : OptionValue(); },
      [&field, form, name](const OptionValue& value) {
        const auto* text = std::get_if<std::string>(&value);
        field.reset();
        if (text == nullptr || text->empty()) return;
        const auto parsed = form.parse(*text);
        if (!parsed || parsed->size() != 1) reject(name, *text, form);
        field = parsed->front();
      });
  option.takes_integers_ = form.parse("1").has_value();
  option.examples_ = form.examples;
  return option.one_of(form.choices);
}

template <typename T>
Option& OptionList::add(std::string name, std::vector<T>& field, const TextForm<T>& form, std::string help) {
  Option& option = add(
      name, OptionKind::kList, std::move(help),
      [&field, form]() -> OptionValue {
        std::vector<std::string> texts;
        for (const T& value : field) texts.push_back(form.format(value));
        return texts;
      },
      [&field, form, name](const OptionValue& value) {
        std::vector<T> values;
        for (const std::string& text : std::get<std::vector<std::string>>(value)) {
          const auto parsed = form.parse(text);
          if (!parsed) reject(name, text, form);
          for (const T& one : *parsed) {
            if (std::ranges::find(values, one) == values.end()) values.push_back(one);
          }
        }
        field = std::move(values);
      });
  option.takes_integers_ = form.parse("1").has_value();
  option.examples_ = form.examples;
  option.choices_ = form.choices;
  return option;
}

}  // namespace headscope
