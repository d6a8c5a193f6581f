#include "tokenize/byte_level.h"

namespace headscope {

void rewrite_as_byte_characters(PieceText& text) {
  text.rewrite([](std::string_view old, const Piece&, PieceWriter& out) {
    for (std::size_t i = 0; i < old.size(); ++i) out.put(kByteCharacters[static_cast<unsigned char>(old[i])], i);
  });
}

}  // namespace headscope
