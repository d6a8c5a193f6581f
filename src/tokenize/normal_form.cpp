#include "tokenize/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headscope {
namespace {

// The longest decomposition, that of U+FDFA, has 18 characters.
constexpr std::size_t kMaxLength = 32;

struct Changed {
  char32_t value;
  std::ptrdiff_t change;  // as PieceWriter::put_changed takes it
  int combining;
};

int combining_class(char32_t c) noexcept {
  return c < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

std::optional<char32_t> composed(char32_t a, char32_t b) noexcept {
  std::array<utf8proc_int32_t, 2> pair = {static_cast<utf8proc_int32_t>(a), static_cast<utf8proc_int32_t>(b)};
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size != 1) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
}

// Collects the characters from one that combines with nothing before it up to the next such character, in canonical
// order.
class Decomposition {
 public:
  explicit Decomposition(NormalForm form)
      : options_(static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                (form.compatible ? UTF8PROC_COMPAT : 0))) {}

  // `emit` receives every character whose position is final.
  template <typename Emit>
  void add(char32_t c, Emit&& emit) {
    if (c < 0xA0) {
      push({c, 0, 0}, emit);
      return;
    }
    std::array<utf8proc_int32_t, kMaxLength> parts{};
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), kMaxLength, options_, &boundary);
    if (count <= 0 || static_cast<std::size_t>(count) > kMaxLength) {  // not assigned
      push({c, 0, 0}, emit);
      return;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      push({part, i == 0 ? 0 : 1, combining_class(part)}, emit);
    }
  }

  template <typename Emit>
  void flush(Emit&& emit) {
    std::ranges::stable_sort(pending_, {}, &Changed::combining);
    for (const Changed& c : pending_) emit(c);
    pending_.clear();
  }

 private:
  template <typename Emit>
  void push(const Changed& c, Emit&& emit) {
    if (c.combining == 0) flush(emit);
    pending_.push_back(c);
  }

  utf8proc_option_t options_;
  std::vector<Changed> pending_;
};

// Composes a starter with the marks after it that are not blocked.
class Composition {
 public:
  explicit Composition(PieceWriter& out) : out_(out) {}

  void add(const Changed& c) {
    if (!starter_) {
      if (c.combining != 0) {
        out_.put_changed(c.value, c.change);
      } else {
        starter_ = c;
      }
      return;
    }
    const bool blocked = !marks_.empty() && marks_.back().combining >= c.combining;
    if (!blocked && c.value >= 0x300) {  // no smaller character is the second of a pair that composes
      if (const auto joined = composed(starter_->value, c.value)) {
        starter_->value = *joined;
        starter_->change += c.change - 1;
        return;
      }
    }
    if (c.combining == 0) {
      flush();
      starter_ = c;
    } else {
      marks_.push_back(c);
    }
  }

  void flush() {
    if (starter_) out_.put_changed(starter_->value, starter_->change);
    for (const Changed& mark : marks_) out_.put_changed(mark.value, mark.change);
    starter_.reset();
    marks_.clear();
  }

 private:
  PieceWriter& out_;
  std::optional<Changed> starter_;
  std::vector<Changed> marks_;
};

}  // namespace

bool may_change(std::string_view text, NormalForm form) noexcept {
  // Below U+0300 there are no marks and accented letters are composed; below U+00A0 nothing decomposes either.
  const auto first = static_cast<unsigned char>(form.compose && !form.compatible ? 0xCC : 0xC2);
  return std::ranges::any_of(text, [first](char c) { return static_cast<unsigned char>(c) >= first; });
}

void write_normal_form(std::string_view text, NormalForm form, PieceWriter& out) {
  Decomposition decomposition(form);
  Composition composition(out);
  const auto emit = [&](const Changed& c) {
    if (form.compose) {
      composition.add(c);
    } else {
      out.put_changed(c.value, c.change);
    }
  };
  for (std::size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_at(text, i);
    decomposition.add(c.value, emit);
    i += c.size;
  }
  decomposition.flush(emit);
  composition.flush();
}

}  // namespace headscope
