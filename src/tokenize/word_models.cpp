#include <algorithm>
#include <utility>

#include "tokenize/other_models.h"

namespace headscope {

WordLevelModel::WordLevelModel(TokenTable tokens, std::string_view unknown) : TokenModel(std::move(tokens)) {
  unknown_id_ = this->tokens().find(unknown);
}

void WordLevelModel::tokenize(std::string_view word, std::vector<WordToken>& out) const {
  const auto id = tokens().find(word);
  if (!id && !unknown_id_) throw_no_token(word);
  out.push_back({id ? *id : *unknown_id_, {0, static_cast<std::uint32_t>(word.size())}});
}

WordPieceModel::WordPieceModel(TokenTable tokens, const Options& options)
    : TokenModel(std::move(tokens)),
      trie_(this->tokens()),
      continuing_(trie_.walk(options.continuing_prefix)),
      max_characters_(options.max_characters),
      unknown_id_(this->tokens().find(options.unknown)) {}

void WordPieceModel::tokenize(std::string_view word, std::vector<WordToken>& out) const {
  const std::size_t before = out.size();
  const auto characters =
      static_cast<std::size_t>(std::ranges::count_if(word, [](char c) { return !is_continuation(c); }));
  bool known = characters <= max_characters_;
  for (std::size_t begin = 0; known && begin < word.size();) {
    ByteTrie::Node node = begin == 0 ? ByteTrie::kRoot : continuing_;
    std::size_t end = begin;
    std::uint32_t id = ByteTrie::kNoValue;
    for (std::size_t i = begin; i < word.size() && node != ByteTrie::kNone; ++i) {
      node = trie_.next(node, word[i]);
      if (node == ByteTrie::kNone || trie_.value(node) == ByteTrie::kNoValue) continue;
      id = trie_.value(node);
      end = i + 1;
    }
    known = end > begin;
    if (known) out.push_back({id, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}});
    begin = end;
  }
  if (known) return;
  out.resize(before);
  if (!unknown_id_) throw_no_token(word);
  out.push_back({*unknown_id_, {0, static_cast<std::uint32_t>(word.size())}});
}

}  // namespace headscope
