#pragma once

#include <string_view>

#include "tokenize/piece_text.h"

namespace headscope {

/// The four normalization forms of Unicode (UAX #15).
struct NormalForm {
  bool compatible = false;  ///< NFKC, NFKD
  bool compose = false;     ///< NFC, NFKC

  friend bool operator==(const NormalForm&, const NormalForm&) = default;
};

/// Returns false only if `text` is certainly in that form; true proves nothing.
[[nodiscard]] bool may_change(std::string_view text, NormalForm form) noexcept;

/// Writes `text`, the old text of the piece, in that form. Linear, except that the marks of one character are sorted.
void write_normal_form(std::string_view text, NormalForm form, PieceWriter& out);

}  // namespace headscope
