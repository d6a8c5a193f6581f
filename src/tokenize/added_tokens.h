#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/byte_trie.h"
#include "tokenize/normalizer.h"
#include "tokenize/piece_text.h"
#include "tokenize/token_table.h"

namespace headscope {

/// A token that is matched in the text itself, before the text is split.
struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool single_word = false;  ///< Matches only if not adjacent to a word character.
  bool strip_left = false;   ///< Includes the whitespace before it.
  bool strip_right = false;
  bool normalized = false;  ///< Matched after normalization, in its own normalized form.
};

/// Finds added tokens: scans from left to right and takes the longest match at each position.
class AddedTokens {
 public:
  /// Of several tokens with the same id the last one counts. Tokens without content are skipped.
  /// \throws Error  kFormat, with a message that starts with `where`, if two tokens have the same text or one is
  ///                normalized to an empty text.
  AddedTokens(const std::vector<AddedToken>& tokens, const Normalizers& normalizers, std::string_view where);

  /// Matches the tokens that are not normalized; call before normalizing.
  void split_raw(PieceText& text) const { raw_.split(text); }
  /// Matches the normalized tokens; call after normalizing.
  void split_normalized(PieceText& text) const { normalized_.split(text); }

 private:
  class Set {
   public:
    /// \throws Error  as above.
    void add(const AddedToken& token, std::string_view text, std::string_view where);
    void finish() { trie_ = ByteTrie(table_); }
    void split(PieceText& text) const;

   private:
    struct Match {
      std::size_t end;
      std::uint32_t index;
    };
    void cut(std::string_view text, std::vector<PieceText::Cut>& cuts) const;

    std::vector<AddedToken> tokens_;
    TokenTable table_;  // ids are indices into tokens_
    ByteTrie trie_;
  };

  Set raw_;
  Set normalized_;
};

}  // namespace headscope
