#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/model/vocabulary.h"
#include "tokenize/bpe_model.h"
#include "tokenize/merges.h"
#include "tokenize/other_models.h"
#include "tokenize/pipeline.h"

namespace headscope {
namespace {

BpeOptions read_bpe_options(const Component& model) {
  if (const JsonValue dropout = model.value().find("dropout"); !dropout.is_null() && dropout.as_number() != 0.0) {
    model.unsupported("dropout, which makes tokens random,");
  }
  BpeOptions options;
  if (!model.value().find("unk_token").is_null()) options.unknown = model.text("unk_token");
  options.fuse_unknown = model.flag_or("fuse_unk", false);
  options.byte_fallback = model.flag_or("byte_fallback", false);
  options.ignore_merges = model.flag_or("ignore_merges", false);
  options.prefix = model.text_or("continuing_subword_prefix", "");
  options.suffix = model.text_or("end_of_word_suffix", "");
  return options;
}

// Whether splitting a word before every mark leaves its tokens unchanged: nothing is merged across, the mark is a
// token, which ends a run of unknown characters, and no character is dropped, which would shift what follows.
bool can_cut_before_marks(const TokenTable& tokens, const BpeOptions& options, const MergeReader& merges) {
  if (options.byte_level || options.ignore_merges || !options.prefix.empty() || !options.suffix.empty()) return false;
  const bool knows_all = options.unknown && tokens.find(*options.unknown);
  return knows_all && tokens.find(kSpaceMark) && !merges.joins_before_mark();
}

std::unique_ptr<const TokenModel> read_bpe(const Component& model, TokenizerPipeline& pipeline) {
  BpeOptions options = read_bpe_options(model);
  options.byte_level = pipeline.pre_tokenizers.then_byte_level && !options.byte_fallback && options.prefix.empty() &&
                       options.suffix.empty();
  pipeline.model_takes_bytes = options.byte_level;
  TokenTable tokens = read_token_ids(model.member("vocab"));
  const Component list = model.list("merges");
  MergeTable merges(list.value().size());
  MergeReader reader(tokens, options.prefix.size(), list.where());
  std::size_t index = 0;
  for (const JsonValue item : list.value().items()) {
    if (const auto line = item.as_string()) {
      reader.add_line(*line, merges);
      ++index;
      continue;
    }
    std::vector<std::string_view> parts;
    for (const JsonValue part : item.items()) {
      if (const auto text = part.as_string()) parts.push_back(*text);
    }
    if (parts.size() != 2 || item.size() != 2) list.item(item, index).malformed("is not a pair of tokens");
    reader.add(parts[0], parts[1], merges);
    ++index;
  }
  if (can_cut_before_marks(tokens, options, reader)) pipeline.pre_tokenizers.steps.push_back(make_mark_split());
  return std::make_unique<BpeModel>(std::move(tokens), std::move(merges), std::move(options));
}

std::unique_ptr<const TokenModel> read_word_piece(const Component& model) {
  WordPieceModel::Options options;
  options.unknown = model.text("unk_token");
  options.continuing_prefix = model.text("continuing_subword_prefix");
  const auto most = model.value().find("max_input_chars_per_word").as_unsigned();
  if (!most) model.malformed("has no 'max_input_chars_per_word' that is a non-negative integer");
  options.max_characters = *most;
  return std::make_unique<WordPieceModel>(read_token_ids(model.member("vocab")), options);
}

std::unique_ptr<const TokenModel> read_unigram(const Component& model) {
  const Component list = model.list("vocab");
  TokenTable tokens;
  std::vector<double> scores;
  for (const JsonValue item : list.value().items()) {
    const Component entry = list.item(item, scores.size());
    std::optional<std::string_view> text;
    std::optional<double> score;
    std::size_t index = 0;
    for (const JsonValue part : item.items()) {
      if (index == 0) text = part.as_string();
      if (index == 1) score = part.as_number();
      ++index;
    }
    if (index != 2 || !text || !score || !std::isfinite(*score))
      entry.malformed("is not a pair of a token and its score");
    tokens.add(*text, checked_id(scores.size(), entry));
    scores.push_back(*score);
  }
  tokens.finish(list.where());
  std::optional<std::uint32_t> unknown;
  if (!model.value().find("unk_id").is_null()) {
    unknown = model.id("unk_id");
    if (*unknown >= scores.size()) {
      model.malformed(fmt::format("has unk_id {}, expected one of {} tokens", *unknown, scores.size()));
    }
  }
  return std::make_unique<UnigramModel>(std::move(tokens), std::move(scores), unknown,
                                        model.flag_or("byte_fallback", false));
}

// Old files do not state the type.
std::string_view type_of(const Component& model) {
  const JsonValue value = model.value();
  if (!value.find("type").is_null()) return model.type();
  if (!value.find("merges").is_null()) return "BPE";
  if (value.find("vocab").is_array()) return "Unigram";
  return value.find("continuing_subword_prefix").is_null() ? "WordLevel" : "WordPiece";
}

std::unique_ptr<const TokenModel> read_model(const Component& model, TokenizerPipeline& pipeline) {
  if (!model.value().is_object()) model.malformed("is not an object");
  const std::string_view type = type_of(model);
  if (type == "BPE") return read_bpe(model, pipeline);
  if (type == "WordPiece") return read_word_piece(model);
  if (type == "Unigram") return read_unigram(model);
  if (type == "WordLevel") {
    return std::make_unique<WordLevelModel>(read_token_ids(model.member("vocab")), model.text("unk_token"));
  }
  model.unsupported(fmt::format("model '{}'", printable(type, 60)));
}

std::vector<AddedToken> read_added(const Component& root, const TokenTable& tokens) {
  std::vector<AddedToken> added;
  if (root.value().find("added_tokens").is_null()) return added;
  const Component list = root.list("added_tokens");
  // Ids must be those that `tokenizers` assigns when it reads the list: the one in the vocabulary, else the next after
  // it.
  TokenTable seen;
  auto next = static_cast<std::uint32_t>(tokens.size());
  for (const JsonValue value : list.value().items()) {
    const Component item = list.item(value, added.size());
    AddedToken token;
    token.content = item.text("content");
    token.id = item.id("id");
    token.single_word = item.flag("single_word");
    token.strip_left = item.flag("lstrip");
    token.strip_right = item.flag("rstrip");
    token.normalized = item.flag("normalized");
    const auto in_list = seen.find(token.content);
    const auto in_model = in_list ? in_list : tokens.find(token.content);
    const std::uint32_t expected = in_model ? *in_model : next;
    if (!token.content.empty() && expected != token.id) {
      item.unsupported(fmt::format("id {} for token '{}', whose id in the vocabulary is {},", token.id,
                                   printable(token.content, 60), expected));
    }
    if (!in_model && !token.content.empty()) ++next;
    if (!token.content.empty()) seen.add(token.content, token.id);
    added.push_back(std::move(token));
  }
  return added;
}

}  // namespace

TokenTable read_token_ids(const Component& component) {
  if (!component.value().is_object()) component.malformed("is not an object of tokens and ids");
  TokenTable tokens;
  for (const auto [token, value] : component.value().members()) {
    const auto id = value.as_unsigned();
    if (!id) {
      component.malformed(fmt::format("has token '{}' whose id is not a non-negative integer", printable(token, 60)));
    }
    tokens.add(token, checked_id(*id, component));
  }
  tokens.finish(component.where());
  return tokens;
}

std::unique_ptr<const TokenizerPipeline> read_tokenizer_json(JsonValue root, std::string_view where) {
  if (!root.is_object()) throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", where));
  const auto part = [&](std::string_view key) { return Component(root.find(key), fmt::format("{}: {}", where, key)); };
  if (const JsonValue version = root.find("version"); !version.is_null() && version.as_string() != "1.0") {
    part("version").unsupported("any other than '1.0'");
  }
  auto pipeline = std::make_unique<TokenizerPipeline>();
  read_normalizer(part("normalizer"), pipeline->normalizers);
  read_pre_tokenizer(part("pre_tokenizer"), pipeline->pre_tokenizers);
  pipeline->model = read_model(part("model"), *pipeline);
  read_post_processor(part("post_processor"), pipeline->post_steps);
  const std::vector<AddedToken> added = read_added(Component(root, std::string(where)), pipeline->model->tokens());
  pipeline->added.emplace(added, pipeline->normalizers, where);
  return pipeline;
}

}  // namespace headscope
