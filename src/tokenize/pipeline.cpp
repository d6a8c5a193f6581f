#include "tokenize/pipeline.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "tokenize/byte_level.h"

namespace headscope {
namespace {

// Cache of the tokens of one text's words: most words repeat.
class WordTokens {
 public:
  WordTokens(const TokenModel& model, std::size_t text_size) : model_(model) {
    seen_.reserve(std::min<std::size_t>(text_size / 32, 1 << 16));
  }

  // Valid until the next call.
  std::span<const WordToken> of(std::string_view word) {
    if (word.size() > kMaxKeptLength) {
      single_.clear();
      model_.tokenize(word, single_);
      return single_;
    }
    const auto [found, is_new] = seen_.try_emplace(word);
    if (is_new) {
      found->second.begin = tokens_.size();
      model_.tokenize(word, tokens_);
      found->second.end = tokens_.size();
    }
    return std::span(tokens_).subspan(found->second.begin, found->second.end - found->second.begin);
  }

 private:
  static constexpr std::size_t kMaxKeptLength = 64;
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  const TokenModel& model_;
  std::unordered_map<std::string_view, Range> seen_;
  std::vector<WordToken> tokens_;
  std::vector<WordToken> single_;
};

}  // namespace

void TokenizerPipeline::cut(PieceText& text) const {
  if (added) added->split_raw(text);
  for (const auto& step : normalizers) step->apply(text);
  if (added) added->split_normalized(text);
  for (const auto& step : pre_tokenizers.steps) step->apply(text);
  if (pre_tokenizers.then_byte_level && !model_takes_bytes) rewrite_as_byte_characters(text);
}

std::vector<Token> TokenizerPipeline::encode(std::string_view original, SpecialTokens special) const {
  PieceText text(original);
  cut(text);
  const bool trims = std::ranges::any_of(post_steps, [](const PostStep& s) { return s.kind == PostStep::Kind::kTrim; });
  std::vector<TextToken> tokens;
  tokens.reserve(text.pieces().size() + text.pieces().size() / 4);
  WordTokens words(*model, original.size());
  for (const Piece& piece : text.pieces()) {
    const std::string_view word = text.text_of(piece);
    if (piece.token != kNoToken) {
      const Span span = text.origin_of(piece, 0, word.size());
      tokens.push_back({{piece.token, span.begin, span.end}, word});
      continue;
    }
    if (word.empty()) continue;
    for (const WordToken& token : words.of(word)) {
      const Span span = text.origin_of(piece, token.span.begin, token.span.end);
      tokens.push_back({{token.id, span.begin, span.end}, {}});
      if (trims) tokens.back().text = model->tokens().text(token.id);
    }
  }
  for (const PostStep& step : post_steps) {
    if (step.kind == PostStep::Kind::kTrim) {
      trim_offsets(original, step.add_prefix_space, tokens);
    } else if (special == SpecialTokens::kAdd) {
      apply_template(step, tokens);
    }
  }
  std::vector<Token> result;
  result.reserve(tokens.size());
  for (const TextToken& token : tokens) result.push_back(token.token);
  return result;
}

}  // namespace headscope
