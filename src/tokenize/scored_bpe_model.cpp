#include <queue>
#include <utility>

#include "tokenize/other_models.h"

namespace headscope {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFF;

struct Symbol {
  std::uint32_t begin;
  std::uint32_t length;  // 0 once merged into the previous symbol
  std::uint32_t previous;
  std::uint32_t next;
};

struct Candidate {
  float score;
  std::uint32_t at;      // the left symbol
  std::uint32_t length;  // of the two when they became adjacent

  friend bool operator<(const Candidate& a, const Candidate& b) noexcept {
    return a.score != b.score ? a.score < b.score : a.at > b.at;
  }
};

std::vector<Symbol> characters_of(std::string_view word) {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t size = decode_at(word, i).size;
    const auto index = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(size), index - 1, index + 1});
    i += size;
  }
  symbols.front().previous = kEnd;
  symbols.back().next = kEnd;
  return symbols;
}

}  // namespace

ScoredBpeModel::ScoredBpeModel(TokenTable tokens, std::vector<float> scores, std::optional<std::uint32_t> unknown)
    : TokenModel(std::move(tokens)),
      scores_(std::move(scores)),
      unknown_id_(unknown),
      byte_tokens_(find_byte_tokens(this->tokens())) {}

void ScoredBpeModel::tokenize(std::string_view word, std::vector<WordToken>& out) const {
  std::vector<Symbol> symbols = characters_of(word);
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::uint32_t left, std::uint32_t right) {
    if (left == kEnd || right == kEnd) return;
    const std::uint32_t length = symbols[left].length + symbols[right].length;
    if (const auto id = tokens().find(word.substr(symbols[left].begin, length))) {
      queue.push({scores_[*id], left, length});
    }
  };
  for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i) offer(i, i + 1);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.at];
    if (left.length == 0 || left.next == kEnd) continue;
    Symbol& right = symbols[left.next];
    if (left.length + right.length != top.length) continue;
    left.length = top.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) symbols[left.next].previous = top.at;
    offer(left.previous, top.at);
    offer(top.at, left.next);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    const std::string_view part = word.substr(symbol.begin, symbol.length);
    const Span span{symbol.begin, symbol.begin + symbol.length};
    if (const auto id = tokens().find(part)) {
      out.push_back({*id, span});
      continue;
    }
    for (const char c : part) {
      const auto id = byte_tokens_[static_cast<unsigned char>(c)];
      if (!id && !unknown_id_) throw_no_token(part);
      out.push_back({id ? *id : *unknown_id_, span});
    }
  }
}

}  // namespace headscope
