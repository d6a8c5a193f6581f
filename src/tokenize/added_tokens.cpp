#include "tokenize/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "tokenize/characters.h"

namespace headscope {
namespace {

bool is_within_word(std::string_view text, std::size_t begin, std::size_t end) {
  const bool before = begin > 0 && is_word(decode_before(text, begin).value);
  const bool after = end < text.size() && is_word(decode_at(text, end).value);
  return before || after;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const Normalizers& normalizers,
                         std::string_view where) {
  std::vector<AddedToken> kept;
  for (const AddedToken& token : tokens) {
    if (!token.content.empty()) kept.push_back(token);
  }
  // Keep the last token of each id, in the order of ids.
  std::ranges::stable_sort(kept, {}, &AddedToken::id);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i + 1 < kept.size() && kept[i + 1].id == kept[i].id) continue;
    const AddedToken& token = kept[i];
    if (token.normalized) {
      normalized_.add(token, normalized(normalizers, token.content), where);
    } else {
      raw_.add(token, token.content, where);
    }
  }
  raw_.finish();
  normalized_.finish();
}

void AddedTokens::Set::add(const AddedToken& token, std::string_view text, std::string_view where) {
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: added token '{}' {}", where, printable(token.content, 60), what));
  };
  if (text.empty()) fail("is empty after normalization");
  if (table_.find(text)) fail("is a duplicate of another added token");
  table_.add(text, static_cast<std::uint32_t>(tokens_.size()));
  tokens_.push_back(token);
}

void AddedTokens::Set::split(PieceText& text) const {
  if (tokens_.empty()) return;
  text.split([this](std::string_view old, const Piece&, std::vector<PieceText::Cut>& cuts) { cut(old, cuts); });
}

void AddedTokens::Set::cut(std::string_view text, std::vector<PieceText::Cut>& cuts) const {
  const auto add = [&cuts](std::size_t begin, std::size_t end, std::uint32_t id) {
    cuts.push_back({{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, id});
  };
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    std::uint32_t index = ByteTrie::kNoValue;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t i = at; i < text.size(); ++i) {
      node = trie_.next(node, text[i]);
      if (node == ByteTrie::kNone) break;
      if (trie_.value(node) == ByteTrie::kNoValue) continue;
      index = trie_.value(node);
      end = i + 1;
    }
    if (end == at) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    at = end;
    const AddedToken& token = tokens_[index];
    if (token.single_word && is_within_word(text, begin, end)) continue;
    if (token.strip_left) {
      while (begin > done && is_space(decode_before(text, begin).value)) begin -= decode_before(text, begin).size;
    }
    if (token.strip_right) {
      while (end < text.size() && is_space(decode_at(text, end).value)) end += decode_at(text, end).size;
    }
    // Text that the previous token included is no longer available.
    begin = std::max(begin, done);
    if (done < begin) add(done, begin, kNoToken);
    add(begin, std::max(begin, end), token.id);
    done = std::max(begin, end);
  }
  if (done < text.size()) add(done, text.size(), kNoToken);
}

}  // namespace headscope
