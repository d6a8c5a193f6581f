#include "tokenize/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headscope/base/error.h"
#include "tokenize/byte_level.h"
#include "tokenize/characters.h"
#include "tokenize/pattern.h"
#include "tokenize/split_behavior.h"

namespace headscope {
namespace {

// Splits every piece at the segments that `find(text, segments)` finds.
template <typename Find>
void split_at(PieceText& text, SplitBehavior behavior, Find&& find) {
  std::vector<Segment> segments;
  text.split([&](std::string_view old, const Piece&, std::vector<PieceText::Cut>& cuts) {
    segments.clear();
    find(old, segments);
    split_segments(segments, behavior, cuts);
  });
}

template <typename Test>
void split_at_characters(PieceText& text, SplitBehavior behavior, Test&& test) {
  split_at(text, behavior,
           [&](std::string_view old, std::vector<Segment>& found) { find_characters(old, test, found); });
}

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(PieceText& text) const override {
    Pattern::Search search(pattern_);
    split_at(text, behavior_, [&](std::string_view old, std::vector<Segment>& found) {
      search.find_all(old, found);
      if (!invert_) return;
      for (Segment& segment : found) segment.is_match = !segment.is_match;
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) regex_.emplace(kGpt2Regex, "GPT-2's regular expression");
  }
  void apply(PieceText& text) const override {
    const auto bare = [](std::string_view old, const Piece&) { return !old.empty() && !old.starts_with(' '); };
    if (add_prefix_space_ && text.any(bare)) {
      text.rewrite([&](std::string_view old, const Piece& piece, PieceWriter& out) {
        if (bare(old, piece)) out.put(" ", 0);
        out.keep(0, old.size());
      });
    }
    if (!regex_) return;
    RegexSearch search(*regex_);
    split_at(text, SplitBehavior::kIsolated,
             [&](std::string_view old, std::vector<Segment>& found) { search.find_all(old, found); });
  }

 private:
  bool add_prefix_space_;
  std::optional<Regex> regex_;
};

// Rewrites bytes as characters if another step follows that sees them.
class ByteCharacters : public PreTokenizer {
 public:
  void apply(PieceText& text) const override { rewrite_as_byte_characters(text); }
};

// Splits into runs of word characters and runs of characters that are neither word characters nor whitespace.
class Whitespace : public PreTokenizer {
 public:
  void apply(PieceText& text) const override {
    text.split([](std::string_view old, const Piece&, std::vector<PieceText::Cut>& cuts) {
      enum class Kind : std::uint8_t { kSpace, kWord, kOther };
      Kind before = Kind::kSpace;
      for (std::size_t i = 0; i < old.size();) {
        const DecodedChar c = decode_at(old, i);
        const Kind kind = is_word(c.value) ? Kind::kWord : is_space(c.value) ? Kind::kSpace : Kind::kOther;
        const auto begin = static_cast<std::uint32_t>(i);
        i += c.size;
        if (kind != Kind::kSpace && kind != before) cuts.push_back({{begin, begin}});
        if (kind != Kind::kSpace) cuts.back().span.end = static_cast<std::uint32_t>(i);
        before = kind;
      }
    });
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  void apply(PieceText& text) const override { split_at_characters(text, SplitBehavior::kRemoved, is_space); }
};

class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(PieceText& text) const override {
    split_at_characters(text, SplitBehavior::kRemoved, is_space);
    split_at_characters(text, SplitBehavior::kIsolated, is_punctuation);
  }
};

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(SplitBehavior behavior) : behavior_(behavior) {}
  void apply(PieceText& text) const override { split_at_characters(text, behavior_, is_punctuation); }

 private:
  SplitBehavior behavior_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(SplitBehavior behavior) : behavior_(behavior) {}
  void apply(PieceText& text) const override { split_at_characters(text, behavior_, is_number); }

 private:
  SplitBehavior behavior_;
};

class MarkSplit : public PreTokenizer {
 public:
  void apply(PieceText& text) const override {
    text.split([](std::string_view old, const Piece&, std::vector<PieceText::Cut>& cuts) {
      std::size_t begin = 0;
      for (std::size_t at = old.find(kSpaceMark); at != std::string_view::npos;) {
        if (at > begin) cuts.push_back(as_cut(begin, at));
        begin = at;
        while (old.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
        at = old.find(kSpaceMark, at);
      }
      cuts.push_back(as_cut(begin, old.size()));
    });
  }

 private:
  static PieceText::Cut as_cut(std::size_t begin, std::size_t end) {
    return {{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}};
  }
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool split)
      : replacement_(replacement), scheme_(scheme), split_(split) {
    append_utf8(mark_, replacement);
  }
  void apply(PieceText& text) const override {
    text.rewrite([&](std::string_view old, const Piece& piece, PieceWriter& out) {
      const bool marked = old.starts_with(' ') || old.starts_with(mark_);
      const bool asked = scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && piece.shift == 0);
      if (!marked && asked && !old.empty()) out.put(mark_, 0);
      for (std::size_t done = 0; done < old.size();) {
        const std::size_t space = std::min(old.find(' ', done), old.size());
        out.keep(done, space);
        if (space < old.size()) out.put(mark_, space);
        done = space + 1;
      }
    });
    if (!split_) return;
    split_at_characters(text, SplitBehavior::kMergedWithNext, [this](char32_t c) { return c == replacement_; });
  }

 private:
  char32_t replacement_;
  std::string mark_;
  PrependScheme scheme_;
  bool split_;
};

SplitBehavior read_behavior(const Component& component) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::kRemoved},
       {"Isolated", SplitBehavior::kIsolated},
       {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
       {"MergedWithNext", SplitBehavior::kMergedWithNext},
       {"Contiguous", SplitBehavior::kContiguous}}};
  const std::string_view name = component.text("behavior");
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  component.malformed(
      fmt::format("has behavior '{}', expected Removed, Isolated, MergedWithPrevious, MergedWithNext or "
                  "Contiguous",
                  printable(name, 60)));
}

std::unique_ptr<const PreTokenizer> read_metaspace(const Component& component) {
  const std::string_view replacement = component.text("replacement");
  if (replacement.empty() || decode_at(replacement, 0).size != replacement.size()) {
    component.malformed("has a replacement that is not one character");
  }
  const std::string_view name = component.text_or("prepend_scheme", "always");
  PrependScheme scheme = PrependScheme::kAlways;
  if (name == "first") {
    scheme = PrependScheme::kFirst;
  } else if (name == "never") {
    scheme = PrependScheme::kNever;
  } else if (name != "always") {
    component.malformed(fmt::format("has prepend_scheme '{}', expected always, first or never", printable(name, 60)));
  }
  if (!component.flag_or("add_prefix_space", true) && scheme != PrependScheme::kNever) {
    component.malformed(
        fmt::format("has add_prefix_space false and prepend_scheme '{}', which contradict each other", name));
  }
  return make_metaspace(decode_at(replacement, 0).value, scheme, component.flag_or("split", true));
}

std::unique_ptr<const PreTokenizer> read_step(const Component& component, std::string_view type) {
  if (type == "Split") {
    return std::make_unique<Split>(Pattern::read(component), read_behavior(component), component.flag("invert"));
  }
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return make_whitespace_split();
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "Metaspace") return read_metaspace(component);
  if (type == "Digits") {
    return std::make_unique<Digits>(component.flag("individual_digits") ? SplitBehavior::kIsolated
                                                                        : SplitBehavior::kContiguous);
  }
  if (type == "Punctuation") {
    const bool said = !component.value().find("behavior").is_null();
    return std::make_unique<Punctuation>(said ? read_behavior(component) : SplitBehavior::kIsolated);
  }
  component.unsupported(fmt::format("pre-tokenizer '{}'", printable(type, 60)));
}

}  // namespace

void read_pre_tokenizer(const Component& component, PreTokenizers& steps) {
  if (component.value().is_null()) return;
  const std::string_view type = component.type();
  if (type == "Sequence") {
    const Component list = component.list("pretokenizers");
    std::size_t index = 0;
    for (const JsonValue item : list.value().items()) {
      const Component part = list.item(item, index++);
      if (part.value().is_null()) part.malformed("is null");
      read_pre_tokenizer(part, steps);
    }
    return;
  }
  if (steps.then_byte_level) steps.steps.push_back(std::make_unique<ByteCharacters>());
  steps.then_byte_level = type == "ByteLevel";
  if (type == "ByteLevel") {
    static_cast<void>(component.flag("trim_offsets"));  // only matters after the model
    steps.steps.push_back(make_byte_level(component.flag("add_prefix_space"), component.flag_or("use_regex", true)));
  } else {
    steps.steps.push_back(read_step(component, type));
  }
}

std::unique_ptr<const PreTokenizer> make_isolating_split(std::string_view regex, std::string_view where) {
  return std::make_unique<Split>(Pattern::of_regex(regex, where), SplitBehavior::kIsolated, false);
}

std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer() {
  return std::make_unique<BertPreTokenizer>();
}

std::unique_ptr<const PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}

std::unique_ptr<const PreTokenizer> make_whitespace_split() {
  return std::make_unique<WhitespaceSplit>();
}

std::unique_ptr<const PreTokenizer> make_mark_split() {
  return std::make_unique<MarkSplit>();
}

std::unique_ptr<const PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(replacement, scheme, split);
}

}  // namespace headscope
