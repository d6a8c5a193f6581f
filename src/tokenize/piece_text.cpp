#include "tokenize/piece_text.h"

#include <algorithm>

#include "headscope/base/error.h"

namespace headscope {

Span PieceText::character_around(std::size_t at) const noexcept {
  std::size_t begin = at;
  while (begin > 0 && is_continuation(text_[begin])) --begin;
  std::size_t end = at + 1;
  while (end < text_.size() && is_continuation(text_[end])) ++end;
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

Span PieceText::origin_of(const Piece& piece, std::size_t begin, std::size_t end) const noexcept {
  const std::size_t size = piece.end - piece.begin;
  begin = std::min(begin, size);
  end = std::min(end, size);
  if (begin >= end) {
    const auto at = static_cast<std::uint32_t>(piece.shift + begin);
    return {at, at};
  }
  return {origin(piece.begin + begin).begin, origin(piece.begin + end - 1).end};
}

void PieceWriter::throw_too_long() {
  throw Error(ErrorKind::kResource,
              "text: normalization makes it more than 64 times as long; is the tokenizer damaged?");
}

void PieceWriter::put_changed(char32_t c, std::ptrdiff_t change) {
  const std::string_view old = from_.text_of(piece_);
  const std::size_t before = text_.size();
  check_room(4);
  append_utf8(text_, c);
  Span span{piece_.shift, piece_.shift};
  if (change > 0) {
    if (at_ > 0) span = from_.origin(piece_.begin + at_ - 1);
  } else if (!old.empty()) {
    span = from_.origin(piece_.begin + std::min(at_, old.size() - 1));
    for (std::ptrdiff_t i = change; i <= 0 && at_ < old.size(); ++i) skip_character(old);
  }
  origins_.insert(origins_.end(), text_.size() - before, span);
}

}  // namespace headscope
