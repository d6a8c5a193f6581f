#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/tokenize/utf8.h"

namespace headscope {

/// Bytes [begin, end).
struct Span {
  std::uint32_t begin;
  std::uint32_t end;
};

inline constexpr std::uint32_t kNoToken = 0xFFFFFFFF;

/// A part of a text on its way to becoming tokens.
struct Piece {
  std::uint32_t begin;  ///< In the current text.
  std::uint32_t end;
  std::uint32_t shift;             ///< Where it starts in the original text.
  std::uint32_t token = kNoToken;  ///< Set for an added token, which later steps leave alone.
};

class PieceWriter;

/// A text that normalizers rewrite and pre-tokenizers split, and that tracks where each of its bytes came from.
///
/// Pieces are ranges of one buffer, so splitting copies nothing; until the text is rewritten, the buffer is the
/// caller's text and origins take no memory.
class PieceText {
 public:
  /// `original` must be UTF-8 and must outlive this object.
  explicit PieceText(std::string_view original)
      : text_(original),
        longest_(longest(original.size())),
        pieces_{{0, static_cast<std::uint32_t>(original.size()), 0}} {}
  PieceText(const PieceText&) = delete;
  PieceText& operator=(const PieceText&) = delete;

  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::string_view text_of(const Piece& piece) const noexcept {
    return text_.substr(piece.begin, piece.end - piece.begin);
  }
  /// Returns where bytes [begin, end) of a piece came from, rounded to whole characters. An empty range gives
  /// `shift` + begin.
  [[nodiscard]] Span origin_of(const Piece& piece, std::size_t begin, std::size_t end) const noexcept;

  /// Splits every piece that is not a token: `divide(text, piece, cuts)` adds the spans to keep, relative to the piece.
  /// Empty spans are dropped.
  template <typename Divide>
  void split(Divide&& divide);

  /// Rewrites every piece that is not a token: `write(text, piece, writer)` writes its new text.
  /// \throws Error  kResource if the text becomes more than 64 times as long as the original.
  template <typename Write>
  void rewrite(Write&& write);

  /// Whether `test(text, piece)` holds for at least one piece that is not a token.
  template <typename Test>
  [[nodiscard]] bool any(Test&& test) const;

  /// A span of a piece, and the id of the added token it is, or kNoToken.
  struct Cut {
    Span span;
    std::uint32_t token = kNoToken;
  };

 private:
  friend class PieceWriter;

  [[nodiscard]] Span origin(std::size_t at) const noexcept {
    return origins_.empty() ? character_around(at) : origins_[at];
  }
  [[nodiscard]] Span character_around(std::size_t at) const noexcept;

  // Normal forms make a text at most 18 times as long; anything much longer is an attack. Offsets have 32 bits.
  [[nodiscard]] static std::size_t longest(std::size_t original) noexcept {
    return std::min<std::size_t>(64 * original + 4096, 0xFFFFFFFE);
  }

  std::string_view text_;
  std::size_t longest_;        // maximum size of text_
  std::string buffer_;         // what text_ views once the text was rewritten
  std::vector<Span> origins_;  // of each byte of buffer_; empty while text_ is the original
  std::vector<Piece> pieces_;
};

/// Writes the new text of one piece and records its origins. Positions are byte offsets in the piece's old text.
class PieceWriter {
 public:
  PieceWriter(const PieceText& from, std::string& text, std::vector<Span>& origins)
      : from_(from), text_(text), origins_(origins) {}

  void begin_piece(const Piece& piece) noexcept {
    piece_ = piece;
    at_ = 0;
  }

  /// Copies bytes [begin, end) unchanged.
  void keep(std::size_t begin, std::size_t end) {
    check_room(end - begin);
    text_.append(from_.text_of(piece_).substr(begin, end - begin));
    for (std::size_t i = begin; i < end; ++i) origins_.push_back(from_.origin(piece_.begin + i));
  }

  /// Writes a text that replaces the character around byte `at`.
  void put(std::string_view text, std::size_t at) {
    check_room(text.size());
    text_.append(text);
    origins_.insert(origins_.end(), text.size(), from_.origin(piece_.begin + at));
  }

  void put(char32_t c, std::size_t at) {
    const std::size_t before = text_.size();
    check_room(4);
    append_utf8(text_, c);
    origins_.insert(origins_.end(), text_.size() - before, from_.origin(piece_.begin + at));
  }

  /// Writes the next character when rewriting in order: with `change` > 0 it was added after the previous character,
  /// otherwise it replaces the next old character and the -change characters after it.
  void put_changed(char32_t c, std::ptrdiff_t change);

 private:
  void check_room(std::size_t more) const {
    if (more > from_.longest_ || text_.size() > from_.longest_ - more) throw_too_long();
  }
  [[noreturn]] static void throw_too_long();
  void skip_character(std::string_view old) noexcept {
    if (at_ < old.size()) at_ += decode_at(old, at_).size;
  }

  const PieceText& from_;
  std::string& text_;
  std::vector<Span>& origins_;
  Piece piece_{};
  std::size_t at_ = 0;  // position of put_changed in the old text
};

template <typename Divide>
void PieceText::split(Divide&& divide) {
  std::vector<Piece> pieces;
  pieces.reserve(pieces_.size());
  std::vector<Cut> cuts;
  for (const Piece& piece : pieces_) {
    if (piece.token != kNoToken) {
      pieces.push_back(piece);
      continue;
    }
    cuts.clear();
    divide(text_of(piece), piece, cuts);
    for (const Cut& part : cuts) {
      if (part.span.begin == part.span.end) continue;
      const std::uint32_t begin = piece.begin + part.span.begin;
      pieces.push_back({begin, piece.begin + part.span.end, origin(begin).begin, part.token});
    }
  }
  pieces_ = std::move(pieces);
}

template <typename Write>
void PieceText::rewrite(Write&& write) {
  std::string text;
  std::vector<Span> origins;
  text.reserve(text_.size() + text_.size() / 8);
  origins.reserve(text_.size() + text_.size() / 8);
  PieceWriter writer(*this, text, origins);
  std::vector<Piece> pieces;
  pieces.reserve(pieces_.size());
  for (const Piece& piece : pieces_) {
    writer.begin_piece(piece);
    const auto begin = static_cast<std::uint32_t>(text.size());
    if (piece.token != kNoToken) {
      writer.keep(0, piece.end - piece.begin);
    } else {
      write(text_of(piece), piece, writer);
    }
    pieces.push_back({begin, static_cast<std::uint32_t>(text.size()), piece.shift, piece.token});
  }
  buffer_ = std::move(text);
  text_ = buffer_;
  origins_ = std::move(origins);
  pieces_ = std::move(pieces);
}

template <typename Test>
bool PieceText::any(Test&& test) const {
  for (const Piece& piece : pieces_) {
    if (piece.token == kNoToken && test(text_of(piece), piece)) return true;
  }
  return false;
}

}  // namespace headscope
