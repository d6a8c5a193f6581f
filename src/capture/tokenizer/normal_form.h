#pragma once

#include <string_view>

#include "capture/tokenizer/piece_text.h"

namespace headscope {

/// The four normalization forms of Unicode (UAX #15).
struct NormalForm {
  bool compatible = false;  ///< NFKC, NFKD
  bool compose = false;     ///< NFC, NFKC

  friend bool operator==(const NormalForm&, const NormalForm&) = default;
};

/// False if `text` is surely in that form: a quick look, not a proof of the opposite.
[[nodiscard]] bool may_change(std::string_view text, NormalForm form) noexcept;

/// Writes `text`, the old text of the piece, in that form. Linear but for the marks of one character, which are sorted.
void write_normal_form(std::string_view text, NormalForm form, PieceWriter& out);

}  // namespace headscope
