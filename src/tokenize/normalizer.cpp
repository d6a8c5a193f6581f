#include "tokenize/normalizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "headscope/base/error.h"
#include "tokenize/byte_level.h"
#include "tokenize/characters.h"
#include "tokenize/charsmap.h"
#include "tokenize/normal_form.h"
#include "tokenize/pattern.h"

namespace headscope {
namespace {

// Calls `visit(character, offset)` for every character of a text.
template <typename Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  for (std::size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_at(text, i);
    visit(c, i);
    i += c.size;
  }
}

// Maps every character independently of its neighbors. `map(c, put)` calls put(character) for each result.
template <typename Map>
void map_characters(PieceText& text, Map&& map) {
  text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) {
    for_each_character(old,
                       [&](DecodedChar c, std::size_t at) { map(c.value, [&](char32_t to) { out.put(to, at); }); });
  });
}

class Form : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void apply(PieceText& text) const override {
    if (!text.any([&](std::string_view old, const Piece&) { return may_change(old, form_); })) return;
    text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) { write_normal_form(old, form_, out); });
  }

 private:
  NormalForm form_;
};

void to_lowercase(PieceText& text) {
  map_characters(text, [](char32_t c, auto&& put) {
    const Lowered lowered = lowercase(c);
    put(lowered.first);
    if (lowered.second != 0) put(lowered.second);
  });
}

class Lowercase : public Normalizer {
 public:
  void apply(PieceText& text) const override { to_lowercase(text); }
};

class StripAccents : public Normalizer {
 public:
  void apply(PieceText& text) const override {
    map_characters(text, [](char32_t c, auto&& put) {
      if (!is_mark(c)) put(c);
    });
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(PieceText& text) const override {
    text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) {
      std::size_t begin = 0;
      std::size_t end = old.size();
      while (left_ && begin < end && is_space(decode_at(old, begin).value)) begin += decode_at(old, begin).size;
      while (right_ && begin < end && is_space(decode_before(old, end).value)) end -= decode_before(old, end).size;
      out.keep(begin, end);
    });
  }

 private:
  bool left_;
  bool right_;
};

class Nmt : public Normalizer {
 public:
  void apply(PieceText& text) const override {
    map_characters(text, [](char32_t c, auto&& put) {
      const bool removed =
          (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
      if (removed) return;
      const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      put(space ? U' ' : c);
    });
  }
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(PieceText& text) const override {
    Pattern::Search search(pattern_);
    std::vector<Segment> segments;
    text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) {
      segments.clear();
      search.find_all(old, segments);
      for (const Segment& segment : segments) {
        if (segment.is_match) {
          out.put(content_, segment.end - 1);
        } else {
          out.keep(segment.begin, segment.end);
        }
      }
    });
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string content) : content_(std::move(content)) {}
  void apply(PieceText& text) const override {
    text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) {
      if (!old.empty()) out.put(content_, 0);
      out.keep(0, old.size());
    });
  }

 private:
  std::string content_;
};

class Bert : public Normalizer {
 public:
  explicit Bert(const BertNormalizerOptions& options) : options_(options) {}
  void apply(PieceText& text) const override {
    if (options_.clean_text || options_.handle_chinese_chars) clean(text);
    if (options_.strip_accents) strip_accents(text);
    if (options_.lowercase) to_lowercase(text);
  }

 private:
  void clean(PieceText& text) const {
    map_characters(text, [this](char32_t c, auto&& put) {
      if (options_.clean_text) {
        const bool line = c == '\t' || c == '\n' || c == '\r';
        if (c == 0 || c == 0xFFFD || (!line && is_control(c))) return;
        if (is_space(c)) c = U' ';
      }
      const bool apart = options_.handle_chinese_chars && is_cjk_ideograph(c);
      if (apart) put(U' ');
      put(c);
      if (apart) put(U' ');
    });
  }

  static void strip_accents(PieceText& text) {
    constexpr NormalForm kDecomposed{};
    if (!text.any([&](std::string_view old, const Piece&) { return may_change(old, kDecomposed); })) return;
    text.rewrite(
        [&](std::string_view old, const Piece&, PieceWriter& out) { write_normal_form(old, kDecomposed, out); });
    map_characters(text, [](char32_t c, auto&& put) {
      if (!is_nonspacing_mark(c)) put(c);
    });
  }

  BertNormalizerOptions options_;
};

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}
  void apply(PieceText& text) const override {
    text.rewrite([&](std::string_view old, const Piece&, PieceWriter& out) { map_.write(old, out); });
  }

 private:
  Charsmap map_;
};

class ByteLevelForm : public Normalizer {
 public:
  void apply(PieceText& text) const override { rewrite_as_byte_characters(text); }
};

std::unique_ptr<const Normalizer> read_simple(std::string_view type) {
  if (type == "NFC") return std::make_unique<Form>(NormalForm{.compatible = false, .compose = true});
  if (type == "NFD") return std::make_unique<Form>(NormalForm{.compatible = false, .compose = false});
  if (type == "NFKC") return std::make_unique<Form>(NormalForm{.compatible = true, .compose = true});
  if (type == "NFKD") return std::make_unique<Form>(NormalForm{.compatible = true, .compose = false});
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "ByteLevel") return std::make_unique<ByteLevelForm>();
  return nullptr;
}

std::unique_ptr<const Normalizer> read_bert(const Component& component) {
  BertNormalizerOptions options;
  options.clean_text = component.flag("clean_text");
  options.handle_chinese_chars = component.flag("handle_chinese_chars");
  options.lowercase = component.flag("lowercase");
  options.strip_accents = component.flag_or("strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

std::unique_ptr<const Normalizer> read_replace(const Component& component) {
  Pattern pattern = Pattern::read(component);
  // Where an empty text is replaced, `tokenizers` loses track of where characters came from.
  if (pattern.may_match_empty()) component.unsupported("replacing a pattern that matches empty text");
  return std::make_unique<Replace>(std::move(pattern), std::string(component.text("content")));
}

}  // namespace

void read_normalizer(const Component& component, Normalizers& steps) {
  if (component.value().is_null()) return;
  const std::string_view type = component.type();
  if (type == "Sequence") {
    const Component list = component.list("normalizers");
    std::size_t index = 0;
    for (const JsonValue item : list.value().items()) {
      const Component part = list.item(item, index++);
      if (part.value().is_null()) part.malformed("is null");
      read_normalizer(part, steps);
    }
    return;
  }
  if (auto simple = read_simple(type)) {
    steps.push_back(std::move(simple));
  } else if (type == "Strip") {
    steps.push_back(std::make_unique<Strip>(component.flag("strip_left"), component.flag("strip_right")));
  } else if (type == "Replace") {
    steps.push_back(read_replace(component));
  } else if (type == "Prepend") {
    steps.push_back(make_prepend(std::string(component.text("prepend"))));
  } else if (type == "BertNormalizer") {
    steps.push_back(read_bert(component));
  } else if (type == "Precompiled") {
    const std::string bytes = decode_base64(component.text("precompiled_charsmap"), component.where());
    steps.push_back(make_charsmap_normalizer(Charsmap::parse(bytes, component.where())));
  } else {
    component.unsupported(fmt::format("normalizer '{}'", printable(type, 60)));
  }
}

std::string normalized(const Normalizers& steps, std::string_view content) {
  PieceText text(content);
  for (const auto& step : steps) step->apply(text);
  return std::string(text.text_of(text.pieces().front()));
}

std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<Bert>(options);
}

std::unique_ptr<const Normalizer> make_replace(std::string pattern, std::string content) {
  return std::make_unique<Replace>(Pattern::of_text(std::move(pattern)), std::move(content));
}

std::unique_ptr<const Normalizer> make_charsmap_normalizer(Charsmap map) {
  return std::make_unique<Precompiled>(std::move(map));
}

std::unique_ptr<const Normalizer> make_nfc() {
  return read_simple("NFC");
}

std::unique_ptr<const Normalizer> make_prepend(std::string content) {
  return std::make_unique<Prepend>(std::move(content));
}

}  // namespace headscope
