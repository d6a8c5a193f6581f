#include "headscope/app/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/base/spelling.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& option, const std::string& found, const std::string& expected,
                       const std::vector<std::string>& known = {}) {
  constexpr std::size_t kMaxLength = 60;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: expected {}, found '{}'{}", option, expected,
                                                       printable(found, kMaxLength), did_you_mean(found, known)));
}

std::string one_of_text(const std::vector<std::string>& choices) {
  return fmt::format("one of {}", fmt::join(choices, ", "));
}

std::string replace_all(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

}  // namespace

bool is_standard_output(const fs::path& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1";
}

std::string to_string(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("{}", fmt::join(*texts, ","));
  return "";
}

Option& Option::between(double min, double max) {
  min_ = min;
  max_ = max;
  return *this;
}

Option& Option::above(double limit) {
  min_ = limit;
  excludes_min_ = true;
  return *this;
}

Option& Option::examples(std::vector<std::string> texts) {
  examples_ = std::move(texts);
  return *this;
}

Option& Option::one_of(std::vector<std::string> choices) {
  choices_ = std::move(choices);
  return *this;
}

Option& Option::excludes(std::string name) {
  excluded_ = std::move(name);
  return *this;
}

Option& Option::spelled(std::string words) {
  spelling_ = std::move(words);
  return *this;
}

Option& Option::formerly(std::string words) {
  former_ = std::move(words);
  return *this;
}

std::string Option::spelling() const {
  if (!spelling_.empty()) return spelling_;
  if (positional_) return name_;
  const bool on = kind_ == OptionKind::kFlag && std::get<bool>(default_);
  return (on ? "--no-" : "--") + name_;
}

std::vector<std::string> Option::spellings() const {
  return positional_ ? std::vector<std::string>() : split(spelling());
}

std::string Option::placeholder() const {
  if (!choices_.empty()) return fmt::format("{{{}}}", fmt::join(choices_, ","));
  switch (kind_) {
    case OptionKind::kFlag:
      return "";
    case OptionKind::kInteger:
      return "INTEGER";
    case OptionKind::kNumber:
      return "NUMBER";
    case OptionKind::kPath:
      return "PATH";
    case OptionKind::kText:
    case OptionKind::kList:
      break;
  }
  return holds_paths_ ? "PATH" : "TEXT";
}

bool Option::takes_several() const noexcept {
  return kind_ == OptionKind::kList && repeated_ && !positional_ && holds_paths_;
}

std::string Option::command_line_help() const {
  // A text needs its own option: what follows it may be a positional argument.
  const bool repeated = kind_ == OptionKind::kList && repeated_ && !positional_;
  return help_ + (takes_several() ? "; several may follow" : repeated ? "; may be repeated" : "");
}

std::string Option::flag() const {
  const std::string all = spelling();
  return all.substr(all.rfind(',') + 1);
}

std::string Option::parameter() const {
  return replace_all(name_, '-', '_');
}

void Option::reject(const std::string& found, const std::string& expected) const {
  fail(flag(), found, expected);
}

void Option::check_choices(const std::vector<std::string>& texts) const {
  if (choices_.empty()) return;
  for (const std::string& text : texts) {
    if (std::ranges::find(choices_, text) != choices_.end()) continue;
    constexpr std::size_t kMaxLength = 60;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: unknown value '{}'{}; expected {}", flag(), printable(text, kMaxLength),
                            did_you_mean(text, choices_), one_of_text(choices_)));
  }
}

void Option::check_folder(const std::string& text) const {
  if (text.empty()) throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: expected a folder, found ''", flag()));
  if (!is_standard_output(text)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("{}: results are a folder of files, which standard output cannot be; name a folder, and --json "
                  "to print what is in them",
                  flag()));
}

std::string Option::expected_number() const {
  const std::string what = kind_ == OptionKind::kInteger ? "an integer" : "a number";
  const bool above = std::isfinite(min_);
  const bool below = std::isfinite(max_);
  if (excludes_min_) {
    return fmt::format("{} greater than {}{}", what, min_, below ? fmt::format(" and at most {}", max_) : "");
  }
  if (above && below) return fmt::format("{} from {} to {}", what, min_, max_);
  if (above) return fmt::format("{} of at least {}", what, min_);
  if (below) return fmt::format("{} of at most {}", what, max_);
  return kind_ == OptionKind::kInteger ? "a non-negative integer" : what;
}

void Option::check_range(double number, const std::string& found) const {
  const bool negative = kind_ == OptionKind::kInteger && number < 0;
  const bool too_small = excludes_min_ && number == min_;
  if (negative || too_small || !(number >= min_ && number <= max_)) reject(found, expected_number());
}

void Option::set_value(const OptionValue& value) {
  const std::string text = to_string(value);
  if (std::holds_alternative<std::monostate>(value)) {
    if (!std::holds_alternative<std::monostate>(default_)) reject("nothing", "a value");
    put_(value);
    return;
  }
  switch (kind_) {
    case OptionKind::kFlag:
      if (!std::holds_alternative<bool>(value)) reject(text, "true or false");
      break;
    case OptionKind::kInteger:
      if (!std::holds_alternative<std::int64_t>(value)) reject(text, expected_number());
      check_range(static_cast<double>(std::get<std::int64_t>(value)), text);
      break;
    case OptionKind::kNumber: {
      OptionValue number = value;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*integer);
      if (!std::holds_alternative<double>(number)) reject(text, expected_number());
      check_range(std::get<double>(number), text);
      put_(number);
      return;
    }
    case OptionKind::kText:
    case OptionKind::kPath:
      // A number is a text too: memory=1000000, heads="3".
      if (std::holds_alternative<bool>(value) || std::holds_alternative<std::vector<std::string>>(value)) {
        reject(text, "a text");
      }
      check_choices({text});
      if (names_folder_) check_folder(text);
      put_(text);
      return;
    case OptionKind::kList: {
      if (std::holds_alternative<bool>(value)) reject(text, "a list");
      const auto* texts = std::get_if<std::vector<std::string>>(&value);
      const std::vector<std::string> list = texts != nullptr ? *texts : repeated_ ? std::vector{text} : split(text);
      check_choices(list);
      put_(list);
      return;
    }
  }
  put_(value);
}

OptionValue Option::parse(const std::vector<std::string>& words) const {
  if (kind_ == OptionKind::kList) {
    if (repeated_) return words;
    std::vector<std::string> texts;
    for (const std::string& word : words) {
      for (std::string& part : split(word)) texts.push_back(std::move(part));
    }
    return texts;
  }
  const std::string& word = words.back();
  if (kind_ == OptionKind::kInteger) {
    const auto integer = number_in<std::int64_t>(word);
    const bool is_large = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    if (!integer && is_large && !std::isfinite(max_)) reject(word, "an integer below 2^63");
    if (!integer) reject(word, expected_number());
    return *integer;
  }
  if (kind_ == OptionKind::kNumber) {
    const auto number = number_in<double>(word);
    if (!number) reject(word, expected_number());
    return *number;
  }
  if (kind_ == OptionKind::kFlag) return word == "true";
  return word;
}

void Option::set_words(const std::vector<std::string>& words) {
  set_value(parse(words));
}

Option& OptionList::add(std::string name, OptionKind kind, std::string help, std::function<OptionValue()> get,
                        std::function<void(const OptionValue&)> put) {
  options_.push_back(Option(std::move(name), kind, std::move(help)));
  Option& option = options_.back();
  option.get_ = std::move(get);
  option.put_ = std::move(put);
  option.default_ = option.get_();
  return option;
}

Option& OptionList::add(std::string name, bool& field, std::string help) {
  return add(
      std::move(name), OptionKind::kFlag, std::move(help), [&field]() -> OptionValue { return field; },
      [&field](const OptionValue& value) { field = std::get<bool>(value); });
}

Option& OptionList::add(std::string name, std::size_t& field, std::string help) {
  return add(
      std::move(name), OptionKind::kInteger, std::move(help),
      [&field]() -> OptionValue { return static_cast<std::int64_t>(field); },
      [&field](const OptionValue& value) { field = static_cast<std::size_t>(std::get<std::int64_t>(value)); });
}

Option& OptionList::add(std::string name, std::optional<std::size_t>& field, std::string help) {
  return add(
      std::move(name), OptionKind::kInteger, std::move(help),
      [&field]() -> OptionValue { return field ? OptionValue(static_cast<std::int64_t>(*field)) : OptionValue(); },
      [&field](const OptionValue& value) {
        const auto* integer = std::get_if<std::int64_t>(&value);
        field = integer != nullptr ? std::optional(static_cast<std::size_t>(*integer)) : std::nullopt;
      });
}

Option& OptionList::add(std::string name, double& field, std::string help) {
  return add(
      std::move(name), OptionKind::kNumber, std::move(help), [&field]() -> OptionValue { return field; },
      [&field](const OptionValue& value) { field = std::get<double>(value); });
}

Option& OptionList::add(std::string name, std::optional<double>& field, std::string help) {
  return add(
      std::move(name), OptionKind::kNumber, std::move(help),
      [&field]() -> OptionValue { return field ? OptionValue(*field) : OptionValue(); },
      [&field](const OptionValue& value) {
        const auto* number = std::get_if<double>(&value);
        field = number != nullptr ? std::optional(*number) : std::nullopt;
      });
}

Option& OptionList::add(std::string name, std::string& field, std::string help) {
  // An empty text is shown as no default.
  return add(
      std::move(name), OptionKind::kText, std::move(help),
      [&field]() -> OptionValue { return field.empty() ? OptionValue() : OptionValue(field); },
      [&field](const OptionValue& value) {
        const auto* text = std::get_if<std::string>(&value);
        field = text != nullptr ? *text : std::string();
      });
}

Option& OptionList::add(std::string name, fs::path& field, std::string help) {
  Option& option = add(
      std::move(name), OptionKind::kPath, std::move(help),
      [&field]() -> OptionValue { return field.empty() ? OptionValue() : OptionValue(field.string()); },
      [&field](const OptionValue& value) {
        const auto* text = std::get_if<std::string>(&value);
        field = text != nullptr ? fs::path(*text) : fs::path();
      });
  option.holds_paths_ = true;
  return option;
}

Option& OptionList::add(std::string name, std::vector<std::string>& field, std::string help) {
  return add(
      std::move(name), OptionKind::kList, std::move(help), [&field]() -> OptionValue { return field; },
      [&field](const OptionValue& value) { field = std::get<std::vector<std::string>>(value); });
}

Option& OptionList::add(std::string name, std::vector<fs::path>& field, std::string help) {
  Option& option = add(
      std::move(name), OptionKind::kList, std::move(help),
      [&field]() -> OptionValue {
        std::vector<std::string> texts;
        for (const fs::path& path : field) texts.push_back(path.string());
        return texts;
      },
      [&field](const OptionValue& value) {
        const auto& texts = std::get<std::vector<std::string>>(value);
        field.assign(texts.begin(), texts.end());
      });
  option.holds_paths_ = true;
  return option;
}

Option* OptionList::find(std::string_view name) noexcept {
  for (Option& option : options_) {
    if (option.name() == name || option.parameter() == name) return &option;
  }
  return nullptr;
}

void OptionList::check_exclusions() const {
  const auto is_set = [](const Option& option) { return option.value() != option.default_value(); };
  for (const Option& option : options_) {
    if (option.excluded().empty() || !is_set(option)) continue;
    const auto other = std::ranges::find(options_, option.excluded(), &Option::name);
    if (other == options_.end() || !is_set(*other)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: must not be given together with {}", option.flag(), other->flag()));
  }
}

void OptionList::set_defaults(const OptionList& defaults) {
  for (std::size_t i = 0; i < options_.size(); ++i) options_[i].default_ = defaults.options_[i].default_;
}

std::map<std::string, std::string> OptionList::identity() const {
  std::map<std::string, std::string> entries;
  for (const Option& option : options_) {
    if (!option.is_circumstantial()) entries[option.parameter()] = to_string(option.value());
  }
  return entries;
}

std::vector<std::string> OptionList::words() const {
  std::vector<std::string> words;
  for (const Option& option : options_) {
    const OptionValue value = option.value();
    const auto* texts = std::get_if<std::vector<std::string>>(&value);
    if (option.is_positional()) {
      if (texts != nullptr) {
        words.insert(words.end(), texts->begin(), texts->end());
      } else {
        words.push_back(to_string(value));
      }
      continue;
    }
    if (value == option.default_value()) continue;
    const std::string all = option.spelling();
    const std::string spelled = all.substr(0, all.find(','));
    if (option.kind() == OptionKind::kFlag) {
      words.push_back(spelled);
    } else if (texts != nullptr && option.is_repeated()) {
      for (const std::string& text : *texts) words.insert(words.end(), {spelled, text});
    } else {
      words.insert(words.end(), {spelled, to_string(value)});
    }
  }
  return words;
}

void OptionList::reject(const std::string& name, const std::string& found, const std::string& expected,
                        const std::vector<std::string>& choices, const std::vector<std::string>& examples) {
  fail("--" + name, found, choices.empty() ? expected : one_of_text(choices), choices.empty() ? examples : choices);
}

}  // namespace headscope
