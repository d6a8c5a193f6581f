#include "tokenize/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "headscope/base/error.h"
#include "tokenize/byte_level.h"

namespace headscope {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFF;

struct Candidate {
  std::uint32_t rank;
  std::uint32_t at;  // the left symbol
  std::uint32_t id;  // merged token

  friend bool operator>(const Candidate& a, const Candidate& b) noexcept {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

}  // namespace

BpeModel::BpeModel(TokenTable tokens, MergeTable merges, BpeOptions options)
    : TokenModel(std::move(tokens)), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.unknown) unknown_id_ = this->tokens().find(*options_.unknown);
  if (options_.byte_fallback) byte_tokens_ = find_byte_tokens(this->tokens());
  if (!options_.byte_level) return;
  for (std::size_t b = 0; b < characters_.size(); ++b) {
    std::string character;
    append_utf8(character, kByteCharacters[b]);
    characters_[b] = this->tokens().find(character);
  }
}

std::uint32_t BpeModel::unknown_id(std::string_view part) const {
  if (!unknown_id_) throw_no_token(part);
  return *unknown_id_;
}

void BpeModel::tokenize(std::string_view word, std::vector<WordToken>& out) const {
  if (options_.ignore_merges && is_whole_token(word, out)) return;
  std::vector<Symbol> symbols = options_.byte_level ? symbols_of_bytes(word) : symbols_of(word);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = i == 0 ? kEnd : static_cast<std::uint32_t>(i - 1);
    symbols[i].next = i + 1 == symbols.size() ? kEnd : static_cast<std::uint32_t>(i + 1);
  }
  merge(symbols);
  std::uint32_t at = 0;
  for (const Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    out.push_back({symbol.id, {at, at + symbol.length}});
    at += symbol.length;
  }
}

bool BpeModel::is_whole_token(std::string_view word, std::vector<WordToken>& out) const {
  std::optional<std::uint32_t> id;
  if (!options_.byte_level) {
    id = tokens().find(word);
  } else if (word.size() <= tokens().longest()) {
    std::string characters;
    for (const char c : word) append_utf8(characters, kByteCharacters[static_cast<unsigned char>(c)]);
    id = tokens().find(characters);
  }
  if (id) out.push_back({*id, {0, static_cast<std::uint32_t>(word.size())}});
  return id.has_value();
}

std::vector<BpeModel::Symbol> BpeModel::symbols_of_bytes(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  bool after_unknown = false;
  for (const char c : word) {
    const auto id = characters_[static_cast<unsigned char>(c)];
    const bool unknown = !id;
    if (unknown && !options_.unknown) continue;
    if (unknown && after_unknown && options_.fuse_unknown) {
      ++symbols.back().length;
    } else {
      symbols.push_back({id ? *id : unknown_id(std::string_view(&c, 1)), 1, 0, 0});
    }
    after_unknown = unknown;
  }
  return symbols;
}

std::vector<BpeModel::Symbol> BpeModel::symbols_of(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  std::optional<Symbol> unknown;  // held back, since more may be fused with it
  const auto release = [&] {
    if (unknown) symbols.push_back(*unknown);
    unknown.reset();
  };
  std::string decorated;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t size = decode_at(word, i).size;
    const std::string_view character = word.substr(i, size);
    std::string_view wanted = character;
    const bool first = i == 0;
    i += size;
    const bool last = i == word.size();
    if ((!first && !options_.prefix.empty()) || (last && !options_.suffix.empty())) {
      decorated = fmt::format("{}{}{}", first ? "" : options_.prefix, character, last ? options_.suffix : "");
      wanted = decorated;
    }
    if (const auto id = tokens().find(wanted)) {
      release();
      symbols.push_back({*id, static_cast<std::uint32_t>(size), 0, 0});
      continue;
    }
    const auto has_token = [this](char c) { return byte_tokens_[static_cast<unsigned char>(c)].has_value(); };
    if (options_.byte_fallback && std::ranges::all_of(wanted, has_token)) {
      // A held-back unknown symbol stays held back: `tokenizers` puts it after the bytes.
      for (const char c : wanted) symbols.push_back({*byte_tokens_[static_cast<unsigned char>(c)], 1, 0, 0});
      continue;
    }
    if (!options_.unknown) continue;
    if (unknown && options_.fuse_unknown) {
      unknown->length += static_cast<std::uint32_t>(size);
    } else {
      release();
      unknown = Symbol{unknown_id(character), static_cast<std::uint32_t>(size), 0, 0};
    }
  }
  release();
  return symbols;
}

void BpeModel::merge(std::vector<Symbol>& symbols) const {
  std::vector<Candidate> found;
  found.reserve(symbols.size());
  for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i) {
    if (const auto* merge = merges_.find(symbols[i].id, symbols[i + 1].id))
      found.push_back({merge->rank, i, merge->id});
  }
  std::priority_queue queue(std::greater<>(), std::move(found));
  const auto offer = [&](std::uint32_t left, std::uint32_t right) {
    if (left == kEnd || right == kEnd) return;
    if (const auto* merge = merges_.find(symbols[left].id, symbols[right].id))
      queue.push({merge->rank, left, merge->id});
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.at];
    if (left.length == 0 || left.next == kEnd) continue;
    Symbol& right = symbols[left.next];
    // One of the two may have been merged with another symbol in the meantime.
    const auto* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;
    left.id = top.id;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) symbols[left.next].previous = top.at;
    offer(left.previous, top.at);
    offer(top.at, left.next);
  }
}

}  // namespace headscope
