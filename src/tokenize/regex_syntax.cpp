// Translates Oniguruma syntax, used in tokenizer files, to PCRE2 syntax. Accepts only what is known to mean the same in
// both, or can be expressed in other terms.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/tokenize/utf8.h"
#include "tokenize/regex.h"

namespace headscope {
namespace {

// White_Space. PCRE2's \s also has U+180E, which cannot be subtracted inside a class.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
// PCRE2 10.42's \w lacks marks and all connectors but the underscore; Oniguruma's includes Latin-1's fractions and
// superscripts.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

constexpr std::array<std::string_view, 36> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "LC", "C"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLongCategories = {
    {{"Letter", "L"}, {"Mark", "M"}, {"Number", "N"}, {"Punctuation", "P"}, {"Symbol", "S"}, {"Separator", "Z"}}};
constexpr std::array<std::string_view, 20> kScripts = {
    "Arabic", "Armenian", "Bengali",  "Bopomofo", "Cyrillic", "Devanagari", "Georgian", "Greek",  "Han",  "Hangul",
    "Hebrew", "Hiragana", "Katakana", "Khmer",    "Lao",      "Latin",      "Tamil",    "Telugu", "Thai", "Tibetan"};

constexpr std::size_t kNoAtom = std::string::npos;

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view where) : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    if (!groups_.empty()) malformed("a group is not closed");
    return std::move(out_);
  }

 private:
  struct Group {
    std::size_t begin;  // in out_
    bool caseless;      // outside the group
    bool repeatable;    // false for lookarounds
  };

  [[noreturn]] void unsupported(std::string_view what) const {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: regular expression '{}' has {}, which is not supported",
                                                     where_, printable(pattern_, 80), what));
  }
  [[noreturn]] void malformed(std::string_view what) const {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: regular expression '{}': {}", where_, printable(pattern_, 80), what));
  }

  [[nodiscard]] bool ahead(std::string_view text) const noexcept { return pattern_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!ahead(text)) return false;
    at_ += text.size();
    return true;
  }

  void step() {
    const char c = pattern_[at_];
    switch (c) {
      case '(':
        open_group();
        return;
      case ')':
        close_group();
        return;
      case '[':
        begin_atom();
        character_class();
        return;
      case '\\':
        escape();
        return;
      case '|':
      case '^':
      case '$':
        ++at_;
        out_.push_back(c);
        end_atom();
        return;
      case '.':
        ++at_;
        begin_atom();
        out_.push_back(c);
        return;
      case '*':
      case '+':
      case '?':
      case '{':
        if (repeat()) return;
        break;  // a brace that is not a repeat count is a literal
      default:
        break;
    }
    literal(decode_at(pattern_, at_));
  }

  void begin_atom() noexcept {
    atom_ = out_.size();
    previous_letter_ = 0;
  }
  void end_atom() noexcept {
    atom_ = kNoAtom;
    previous_letter_ = 0;
  }

  void literal(DecodedChar c) {
    const char32_t before = previous_letter_;
    begin_atom();
    if (caseless_) check_caseless(before, c.value);
    put(c);
    at_ += c.size;
  }

  // Ignoring case, "ss" also matches U+00DF and "st" U+FB06 in Oniguruma, but not in PCRE2.
  void check_caseless(char32_t before, char32_t c) {
    if (c >= 0x80) unsupported("a non-ASCII character in a case-insensitive part");
    const auto lower = [](char32_t x) { return x >= 'A' && x <= 'Z' ? x + 32 : x; };
    const char32_t first = lower(before);
    const char32_t second = lower(c);
    const bool folds = (first == 's' && (second == 's' || second == 't')) ||
                       (first == 'f' && (second == 'f' || second == 'i' || second == 'l'));
    if (folds) unsupported("letters that case folding combines (such as ss) in a case-insensitive part");
    previous_letter_ = c;
  }

  void put(DecodedChar c) {
    const bool special = c.value < 0x80 && std::isalnum(static_cast<int>(c.value)) == 0;
    if (special && c.value > 0x20 && c.value != 0x7F) {
      out_.push_back('\\');
      out_.push_back(static_cast<char>(c.value));
    } else if (special) {
      out_ += fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c.value));
    } else {
      append_utf8(out_, c.value);
    }
  }

  void open_group() {
    Group group{out_.size(), caseless_, true};
    end_atom();
    if (take("(?i)")) {
      caseless_ = true;
      out_ += "(?i)";
      return;
    }
    if (take("(?i:")) {
      caseless_ = true;
      out_ += "(?i:";
    } else if (take("(?-i:")) {
      caseless_ = false;
      out_ += "(?-i:";
    } else {
      bool known = false;
      for (const std::string_view opening : {"(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!"}) {
        if (!take(opening)) continue;
        group.repeatable = opening == "(?:" || opening == "(?>";
        out_ += opening;
        known = true;
        break;
      }
      if (!known && (ahead("(?") || ahead("(*"))) unsupported("a group of an unknown kind");
      if (!known) {
        ++at_;
        out_ += "(?:";  // captures are never used
      }
    }
    groups_.push_back(group);
  }

  void close_group() {
    if (groups_.empty()) malformed("unmatched closing parenthesis");
    ++at_;
    out_.push_back(')');
    const Group group = groups_.back();
    groups_.pop_back();
    caseless_ = group.caseless;
    end_atom();
    if (group.repeatable) atom_ = group.begin;
  }

  std::optional<std::size_t> number() {
    std::size_t value = 0;
    const std::size_t begin = at_;
    while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9' && at_ - begin < 6) {
      value = value * 10 + static_cast<std::size_t>(pattern_[at_++] - '0');
    }
    if (at_ == begin) return std::nullopt;
    return value;
  }

  // Parses {n}, {n,}, {n,m} or {,m}; returns nothing for anything else.
  std::optional<std::string> interval() {
    const std::size_t begin = at_;
    ++at_;
    const auto least = number();
    const bool comma = take(",");
    const auto most = comma ? number() : std::nullopt;
    if (!take("}") || (!least && !most)) {
      at_ = begin;
      return std::nullopt;
    }
    if (!comma) return fmt::format("{{{}}}", *least);
    return fmt::format("{{{},{}}}", least.value_or(0), most ? fmt::format("{}", *most) : std::string());
  }

  bool repeat() {
    const bool braces = pattern_[at_] == '{';
    std::string count(1, pattern_[at_]);
    if (braces) {
      const std::size_t begin = at_;
      const auto found = interval();
      if (!found) return false;
      count = *found;
      if (pattern_.substr(begin, at_ - begin).find(',') == std::string_view::npos && ahead("?")) {
        unsupported("'{n}?'");  // means an optional {n} in Oniguruma, a lazy one in PCRE2
      }
    } else {
      ++at_;
    }
    if (atom_ == kNoAtom) malformed("there is nothing to repeat");
    out_ += count;
    if (take("?")) {
      out_.push_back('?');
    } else if (!braces && take("+")) {
      out_.push_back('+');
    }
    previous_letter_ = 0;
    // '{n,m}+' repeats the interval in Oniguruma and is possessive in PCRE2, unless the interval is in a group.
    if (at_ < pattern_.size() && std::string_view("*+?{").find(pattern_[at_]) != std::string_view::npos) {
      out_.insert(atom_, "(?:");
      out_.push_back(')');
    }
    return true;
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) malformed("it ends with a backslash");
    const char c = pattern_[at_ + 1];
    if (c == 'b' || c == 'B') {
      at_ += 2;
      end_atom();
      const std::string word = fmt::format("[{}]", kWord);
      const char* const other = c == 'b' ? "!" : "=";  // lookahead after a word character
      const char* const same = c == 'b' ? "=" : "!";
      out_ += fmt::format("(?:(?<={0})(?{1}{0})|(?<!{0})(?{2}{0}))", word, other, same);
      return;
    }
    if (c == 'A' || c == 'z' || c == 'Z') {
      at_ += 2;
      end_atom();
      out_ += fmt::format("\\{}", c);
      return;
    }
    const std::size_t begin = at_;
    if (const auto set = escaped_set()) {
      begin_atom();
      out_ += fmt::format("[{}]", *set);
      return;
    }
    at_ = begin;
    const char32_t value = escaped_character();
    const char32_t before = previous_letter_;
    begin_atom();
    if (caseless_) check_caseless(before, value);
    put({value, 0});
  }

  // Translates \s, \p{L} and the like to the contents of a class.
  std::optional<std::string> escaped_set() {
    const char c = pattern_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 's':
        return std::string(kSpace);
      case 'S':
        return std::string(kNotSpace);
      case 'd':
        return "\\p{Nd}";
      case 'D':
        return "\\P{Nd}";
      case 'w':
        return std::string(kWord);
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        return std::nullopt;
    }
  }

  std::string property(bool negated) {
    const std::size_t end = pattern_.find('}', at_);
    if (at_ >= pattern_.size() || pattern_[at_] != '{' || end == std::string_view::npos) {
      malformed("\\p is not followed by a name in braces");
    }
    std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    for (const auto& [longer, shorter] : kLongCategories) {
      if (name == longer) name = shorter;
    }
    const char* const letter = negated ? "P" : "p";
    if (std::ranges::find(kCategories, name) != kCategories.end()) {
      // When case is ignored, the two disagree about what is lowercase.
      if (caseless_ && name.starts_with('L') && name.size() == 2)
        unsupported("a case property in a case-insensitive part");
      if (name == "LC") unsupported("\\p{LC}");
      return fmt::format("\\{}{{{}}}", letter, name);
    }
    // PCRE2 takes a plain script name to include its extensions.
    if (std::ranges::find(kScripts, name) != kScripts.end()) return fmt::format("\\{}{{sc:{}}}", letter, name);
    unsupported(fmt::format("the property '{}'", printable(name, 40)));
  }

  char32_t hexadecimal(std::size_t digits, bool exactly) {
    char32_t value = 0;
    std::size_t count = 0;
    for (; count < digits && at_ < pattern_.size(); ++count, ++at_) {
      const char c = pattern_[at_];
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!letter && (c < '0' || c > '9')) break;
      value = value * 16 + static_cast<char32_t>(letter ? (c | 32) - 'a' + 10 : c - '0');
    }
    if (count == 0 || (exactly && count != digits)) malformed("an escape lacks digits");
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) malformed("an escape is not a character");
    return value;
  }

  // Parses one character after a backslash.
  char32_t escaped_character() {
    const DecodedChar c = decode_at(pattern_, at_ + 1);
    at_ += 1 + c.size;
    static constexpr std::string_view kNames = "tnvfrae";
    static constexpr std::string_view kValues = "\x09\x0A\x0B\x0C\x0D\x07\x1B";
    if (c.value < 0x80) {
      const std::size_t index = kNames.find(static_cast<char>(c.value));
      if (index != std::string_view::npos) return static_cast<char32_t>(kValues[index]);
    }
    if (c.value == 'u') return hexadecimal(4, true);
    if (c.value == 'x' && take("{")) {
      const char32_t value = hexadecimal(6, false);
      if (!take("}")) malformed("an escape lacks its closing brace");
      return value;
    }
    if (c.value == 'x') {
      const char32_t value = hexadecimal(2, false);
      if (value >= 0x80) unsupported("a byte that is not a character");
      return value;
    }
    if (c.value < 0x80 && std::isalnum(static_cast<int>(c.value)) != 0) {
      unsupported(fmt::format("'\\{}'", static_cast<char>(c.value)));
    }
    return c.value;
  }

  void character_class() {
    ++at_;
    out_.push_back('[');
    if (take("^")) out_.push_back('^');
    if (ahead("]")) unsupported("an empty class");
    while (!ahead("]")) {
      if (at_ >= pattern_.size()) malformed("a class is not closed");
      if (ahead("[")) unsupported("a class in a class");
      if (ahead("&&")) unsupported("an intersection of classes");
      class_item();
    }
    ++at_;
    out_.push_back(']');
  }

  void class_item() {
    if (ahead("\\")) {
      if (at_ + 1 >= pattern_.size()) malformed("it ends with a backslash");
      const std::size_t begin = at_;
      if (const auto set = escaped_set()) {
        out_ += *set;
        return;
      }
      at_ = begin;
    }
    const char32_t first = class_character();
    put({first, 0});
    if (!ahead("-") || ahead("-]") || at_ + 1 >= pattern_.size()) return;
    ++at_;
    if (ahead("[")) unsupported("a class in a class");
    if (ahead("\\") && at_ + 1 < pattern_.size() &&
        std::string_view("sSdDwWpP").find(pattern_[at_ + 1]) != std::string_view::npos) {
      unsupported("a range that ends with a class");
    }
    const char32_t last = class_character();
    if (last < first) malformed("a range is backward");
    out_.push_back('-');
    put({last, 0});
  }

  char32_t class_character() {
    if (at_ >= pattern_.size()) malformed("a class is not closed");
    char32_t value = 0;
    if (ahead("\\")) {
      if (at_ + 1 >= pattern_.size()) malformed("it ends with a backslash");
      value = escaped_character();
    } else {
      const DecodedChar c = decode_at(pattern_, at_);
      at_ += c.size;
      value = c.value;
    }
    if (caseless_ && value >= 0x80) unsupported("a non-ASCII character in a case-insensitive part");
    return value;
  }

  std::string_view pattern_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = kNoAtom;    // start in out_ of what can be repeated
  char32_t previous_letter_ = 0;  // the preceding literal, if case is ignored
  bool caseless_ = false;
  std::vector<Group> groups_;
};

}  // namespace

std::string translate_regex(std::string_view pattern, std::string_view where) {
  if (pattern.size() > 10'000) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: a regular expression has {} bytes, expected at most 10000", where, pattern.size()));
  }
  if (valid_utf8_prefix(pattern) != pattern.size()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: a regular expression is not UTF-8", where));
  }
  return Translator(pattern, where).run();
}

}  // namespace headscope
