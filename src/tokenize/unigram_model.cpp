#include <algorithm>
#include <utility>

#include "tokenize/other_models.h"

namespace headscope {

UnigramModel::UnigramModel(TokenTable tokens, std::vector<double> scores, std::optional<std::uint32_t> unknown,
                           bool byte_fallback)
    : TokenModel(std::move(tokens)),
      trie_(this->tokens()),
      scores_(std::move(scores)),
      unknown_id_(unknown),
      byte_fallback_(byte_fallback),
      unknown_score_((scores_.empty() ? 0.0 : *std::ranges::min_element(scores_)) - 10.0) {
  if (byte_fallback_) byte_tokens_ = find_byte_tokens(this->tokens());
}

std::vector<UnigramModel::Best> UnigramModel::best_ends(std::string_view word) const {
  std::vector<Best> best(word.size() + 1);
  const auto offer = [&best](std::size_t begin, std::size_t end, double score, std::uint32_t id) {
    if (best[end].begin != kNever && score <= best[end].score) return;
    best[end] = {score, static_cast<std::uint32_t>(begin), id};
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t character = decode_at(word, begin).size;
    const double so_far = best[begin].score;
    bool alone = false;  // whether the character is a token
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t i = begin; i < word.size(); ++i) {
      node = trie_.next(node, word[i]);
      if (node == ByteTrie::kNone) break;
      const std::uint32_t id = trie_.value(node);
      if (id == ByteTrie::kNoValue) continue;
      offer(begin, i + 1, scores_[id] + so_far, id);
      alone = alone || i + 1 == begin + character;
    }
    if (!alone) {
      if (!unknown_id_) throw_no_token(word.substr(begin, character));
      offer(begin, begin + character, unknown_score_ + so_far, *unknown_id_);
    }
    begin += character;
  }
  return best;
}

void UnigramModel::emit(std::string_view word, Span span, std::vector<WordToken>& out) const {
  const std::string_view part = word.substr(span.begin, span.end - span.begin);
  if (const auto id = tokens().find(part)) {
    out.push_back({*id, span});
    return;
  }
  const auto has_token = [this](char c) { return byte_tokens_[static_cast<unsigned char>(c)].has_value(); };
  if (byte_fallback_ && std::ranges::all_of(part, has_token)) {
    for (const char c : part) out.push_back({*byte_tokens_[static_cast<unsigned char>(c)], span});
    return;
  }
  if (!unknown_id_) throw_no_token(part);
  out.push_back({*unknown_id_, span});
}

void UnigramModel::tokenize(std::string_view word, std::vector<WordToken>& out) const {
  const std::vector<Best> best = best_ends(word);
  std::vector<Span> spans;  // from last to first
  bool after_unknown = false;
  for (auto end = static_cast<std::uint32_t>(word.size()); end > 0; end = best[end].begin) {
    const bool unknown = unknown_id_ && best[end].id == *unknown_id_;
    if (unknown && after_unknown) {
      spans.back().begin = best[end].begin;
    } else {
      spans.push_back({best[end].begin, end});
    }
    after_unknown = unknown;
  }
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) emit(word, *span, out);
}

}  // namespace headscope
