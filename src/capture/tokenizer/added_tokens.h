#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/byte_trie.h"
#include "capture/tokenizer/normalizer.h"
#include "capture/tokenizer/piece_text.h"
#include "capture/tokenizer/token_table.h"

namespace headscope {

/// A token that is found in the text itself, before anything cuts it.
struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool single_word = false;  ///< Not within a word.
  bool strip_left = false;   ///< Takes the white space before it along.
  bool strip_right = false;
  bool normalized = false;  ///< Looked for after normalizing, in its own normalized form.
};

/// Finds added tokens: at each place the longest, from left to right.
class AddedTokens {
 public:
  /// Later tokens take the place of earlier ones with the same id. Tokens without content are left out.
  /// \throws Error  kFormat, beginning with `where`, if two read the same or one is normalized to nothing.
  AddedTokens(const std::vector<AddedToken>& tokens, const Normalizers& normalizers, std::string_view where);

  /// Before normalizing.
  void split_raw(PieceText& text) const { raw_.split(text); }
  /// After normalizing.
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
