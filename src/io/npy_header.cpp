#include "io/npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::size_t kMaxAxes = 64;  // limit of numpy 2

bool is_supported(char kind, std::size_t size) {
  switch (kind) {
    case 'f':
      return size == 2 || size == 4 || size == 8;
    case 'i':
    case 'u':
      return size == 1 || size == 2 || size == 4 || size == 8;
    case 'b':
      return size == 1;
    default:
      return false;
  }
}

[[noreturn]] void reject_type(std::string_view text, char kind, std::string_view where) {
  std::string_view why = "which headscope does not read; expected f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 or b1";
  if (kind == 'O') why = "pickled Python objects, which headscope never loads; save plain numbers";
  if (kind == 'c') why = "complex numbers; save real and imaginary part as two arrays";
  if (kind == 'V') why = "opaque bytes, as numpy saves bfloat16 and float8; save array.astype('float32')";
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: the elements are '{}', {}", where, printable(text), why));
}

// "<f4": byte order, kind, bytes per element.
NpyType parse_type(std::string_view text, std::string_view where) {
  const auto malformed = [&] {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: 'descr' is '{}', expected a type such as '<f4'", where, printable(text)));
  };
  if (text.size() < 2 || std::strchr("<>|=", text[0]) == nullptr || text[0] == '\0') malformed();
  const char kind = text[1];
  if (kind == 'O') reject_type(text, kind, where);  // has no size
  std::size_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, size);
  if (kind == 'M' || kind == 'm') reject_type(text, kind, where);  // '<M8[ns]' has a unit after its size
  if (error != std::errc() || rest != end) malformed();
  if (!is_supported(kind, size)) reject_type(text, kind, where);
  return {kind, size, text[0] == '>' && size > 1};
}

// The subset of Python literals that numpy's header is written in.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      member();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) fail("nothing after the dictionary");
    if (!type_ || !fortran_order_ || !shape_) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: the npy header has no '{}'", where_,
                                                  !type_            ? "descr"
                                                  : !fortran_order_ ? "fortran_order"
                                                                    : "shape"));
    }
    return {*type_, *fortran_order_, std::move(*shape_)};
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found =
        position_ < text_.size() ? fmt::format("'{}'", printable(text_.substr(position_, 1))) : "its end";
    throw Error(ErrorKind::kFormat, fmt::format("{}: npy header: found {} at character {}, expected {}", where_, found,
                                                position_, expected));
  }

  void skip_space() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

  [[nodiscard]] bool next_is(char c) {
    skip_space();
    return position_ < text_.size() && text_[position_] == c;
  }

  bool accept(char c) {
    if (!next_is(c)) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view string(std::string_view what) {
    const char quote = next_is('"') ? '"' : '\'';
    if (!accept(quote)) fail(what);
    const std::size_t begin = position_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) {
      position_ = text_.size();
      fail("a closing quote");
    }
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  std::size_t extent() {
    skip_space();
    std::size_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [rest, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("an extent that fits 64 bits");
    if (error != std::errc()) fail("an extent (a non-negative integer)");
    position_ += static_cast<std::size_t>(rest - begin);
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 wrote long integers as 10L
    return value;
  }

  Shape tuple() {
    expect('(');
    Shape shape;
    while (!accept(')')) {
      if (shape.size() == kMaxAxes) {
        throw Error(ErrorKind::kUnsupported, fmt::format("{}: the array has more than {} axes", where_, kMaxAxes));
      }
      shape.push_back(extent());
      // (3) is a number in Python; the tuple is (3,).
      if (accept(',')) continue;
      if (shape.size() == 1) fail("','");
      expect(')');
      break;
    }
    return shape;
  }

  NpyType type() {
    if (next_is('[') || next_is('(')) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: the elements are records with named fields; save each field as an array", where_));
    }
    return parse_type(string("a type in quotes"), where_);
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("True or False");
    return false;
  }

  void member() {
    const std::string_view key = string("a key in quotes");
    expect(':');
    const bool repeated =
        (key == "descr" && type_) || (key == "fortran_order" && fortran_order_) || (key == "shape" && shape_);
    if (repeated) throw Error(ErrorKind::kFormat, fmt::format("{}: the npy header has a duplicate '{}'", where_, key));
    if (key == "descr") {
      type_ = type();
    } else if (key == "fortran_order") {
      fortran_order_ = boolean();
    } else if (key == "shape") {
      shape_ = tuple();
    } else {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: the npy header has an unknown key '{}'", where_, printable(key)));
    }
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t position_ = 0;
  std::optional<NpyType> type_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::string_view where) {
  return HeaderParser(text, where).parse();
}

std::string npy_header(const NpyType& type, std::span<const std::size_t> shape, bool fortran_order) {
  std::string extents;
  for (const std::size_t extent : shape) extents += fmt::format("{}, ", extent);
  if (extents.size() > 2) extents.resize(extents.size() - (shape.size() == 1 ? 1 : 2));  // (3,) but (3, 4)
  const char order = type.size == 1 ? '|' : type.big_endian ? '>' : '<';
  std::string dictionary = fmt::format("{{'descr': '{}{}{}', 'fortran_order': {}, 'shape': ({}), }}", order, type.kind,
                                       type.size, fortran_order ? "True" : "False", extents);

  // Magic and version take 8 bytes, the length 2 or, from version 2.0 on, 4.
  constexpr std::size_t kAlignment = 64;
  const bool is_long = dictionary.size() + kAlignment > std::numeric_limits<std::uint16_t>::max();
  const std::size_t prefix = is_long ? 12 : 10;
  while ((prefix + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  const auto length = static_cast<std::uint32_t>(dictionary.size());
  std::string out("\x93NUMPY");
  out += is_long ? '\2' : '\1';
  out += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) out += static_cast<char>((length >> (8 * i)) & 0xFF);
  return out + dictionary;
}

std::string checked_npy_header(const NpyType& type, std::size_t count, std::span<const std::size_t> shape,
                               std::string_view where) {
  if (element_count(shape) != count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} values do not fill an array of shape {}", where, count, to_string(shape)));
  }
  return npy_header(type, shape);
}

}  // namespace headscope
