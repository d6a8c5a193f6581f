#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/model/vocabulary.h"
#include "tokenize/bpe_model.h"
#include "tokenize/byte_level.h"
#include "tokenize/charsmap.h"
#include "tokenize/merges.h"
#include "tokenize/other_models.h"
#include "tokenize/pipeline.h"

namespace headscope {
namespace {

// Values of token_type.
constexpr std::uint64_t kNormal = 1;
constexpr std::uint64_t kUnknown = 2;
constexpr std::uint64_t kControl = 3;
constexpr std::uint64_t kUserDefined = 4;

// Regular expressions to apply one after another, by their name in tokenizer.ggml.pre.
constexpr std::string_view kLlama3Regex =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Regex =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct PreTokenization {
  std::array<std::string_view, 4> regexes;
  bool ignore_merges = false;
  bool add_bos = false;
};
constexpr PreTokenization kGpt2 = {{kGpt2Regex}};
constexpr PreTokenization kLlama3 = {{kLlama3Regex}, true, true};
constexpr PreTokenization kLlama3WithMerges = {{kLlama3Regex}};
constexpr PreTokenization kQwen2 = {{kQwen2Regex}};
constexpr PreTokenization kDigits = {{R"(\p{N})", kGpt2Regex}};
constexpr PreTokenization kDefault = {{R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Regex, R"(\p{N}+)", "[0-9][0-9][0-9]"}};

constexpr std::array<std::pair<std::string_view, const PreTokenization*>, 25> kCuttings = {{
    {"default", &kDefault},
    {"gpt-2", &kGpt2},
    {"phi-2", &kGpt2},
    {"jina-es", &kGpt2},
    {"jina-de", &kGpt2},
    {"jina-v2-es", &kGpt2},
    {"jina-v2-de", &kGpt2},
    {"mpt", &kGpt2},
    {"olmo", &kGpt2},
    {"llama3", &kLlama3},
    {"llama-v3", &kLlama3},
    {"llama-bpe", &kLlama3},
    {"falcon3", &kLlama3},
    {"dbrx", &kLlama3WithMerges},
    {"smaug-bpe", &kLlama3WithMerges},
    {"chatglm-bpe", &kLlama3WithMerges},
    {"qwen2", &kQwen2},
    {"deepseek-r1-qwen", &kQwen2},
    {"stablelm2", &kQwen2},
    {"starcoder", &kDigits},
    {"refact", &kDigits},
    {"command-r", &kDigits},
    {"smollm", &kDigits},
    {"codeshell", &kDigits},
    {"exaone", &kDigits},
}};

// The tokenizer metadata of one file, with its path for error messages.
class Metadata {
 public:
  explicit Metadata(const Checkpoint& checkpoint) : checkpoint_(checkpoint), where_(checkpoint.path().string()) {}

  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[noreturn]] void fail(ErrorKind kind, const std::string& what) const {
    throw Error(kind, fmt::format("{}: {}", where_, what));
  }

  [[nodiscard]] std::optional<GgufValue> find(std::string_view key) const {
    return checkpoint_.metadata(fmt::format("tokenizer.ggml.{}", key));
  }
  [[nodiscard]] std::string_view text(std::string_view key) const {
    const auto value = find(key);
    const auto text = value ? value->as_string() : std::nullopt;
    if (!text) fail(ErrorKind::kFormat, fmt::format("tokenizer.ggml.{} is not a string", key));
    return *text;
  }
  [[nodiscard]] bool flag_or(std::string_view key, bool otherwise) const {
    const auto value = find(key);
    if (!value) return otherwise;
    const auto flag = value->as_bool();
    if (!flag) fail(ErrorKind::kFormat, fmt::format("tokenizer.ggml.{} is not true or false", key));
    return *flag;
  }
  // Returns an id, which must be below `count`.
  [[nodiscard]] std::optional<std::uint32_t> id(std::string_view key, std::size_t count) const {
    const auto value = find(key);
    if (!value) return std::nullopt;
    const auto id = value->as_unsigned();
    if (!id || *id >= count) {
      fail(ErrorKind::kFormat, fmt::format("tokenizer.ggml.{} is not the id of one of {} tokens", key, count));
    }
    return static_cast<std::uint32_t>(*id);
  }
  // An array of at most `most` elements.
  [[nodiscard]] std::optional<std::vector<GgufValue>> list(std::string_view key, std::size_t most) const {
    const auto value = find(key);
    if (!value) return std::nullopt;
    const auto size = value->array_size();
    if (!size || *size > most) {
      fail(ErrorKind::kFormat, fmt::format("tokenizer.ggml.{} is not an array of at most {} elements", key, most));
    }
    return value->as_array();
  }

 private:
  const Checkpoint& checkpoint_;
  std::string where_;
};

// Tokens and their attributes, by id.
struct GgufTokens {
  TokenTable table;
  std::vector<float> scores;         // empty if the file has none
  std::vector<std::uint64_t> types;  // kNormal if the file does not say
  [[nodiscard]] std::size_t size() const noexcept { return types.size(); }
};

GgufTokens read_tokens(const Metadata& metadata) {
  GgufTokens tokens;
  const auto texts = metadata.list("tokens", Vocabulary::kMaxTokens);
  for (const GgufValue& value : *texts) {
    const auto text = value.as_string();
    if (!text) metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.tokens is not an array of strings");
    tokens.table.add(*text, static_cast<std::uint32_t>(tokens.table.entries().size()));
  }
  tokens.table.finish(metadata.where());
  const std::size_t count = texts->size();
  const auto check_size = [&](std::string_view key, std::size_t size) {
    if (size == count) return;
    metadata.fail(ErrorKind::kFormat, fmt::format("tokenizer.ggml.{} has {} elements, expected {}", key, size, count));
  };
  tokens.types.assign(count, kNormal);
  if (const auto types = metadata.list("token_type", Vocabulary::kMaxTokens)) {
    check_size("token_type", types->size());
    for (std::size_t i = 0; i < count; ++i) tokens.types[i] = (*types)[i].as_unsigned().value_or(kNormal);
  }
  if (const auto scores = metadata.list("scores", Vocabulary::kMaxTokens)) {
    check_size("scores", scores->size());
    for (const GgufValue& value : *scores) {
      const auto score = value.as_number();
      if (!score || !std::isfinite(*score)) {
        metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.scores holds something that is not a finite number");
      }
      tokens.scores.push_back(static_cast<float>(*score));
    }
  }
  return tokens;
}

void need_scores(const GgufTokens& tokens, const Metadata& metadata) {
  if (tokens.scores.empty()) metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.scores is missing");
}

std::vector<AddedToken> added_tokens(const GgufTokens& tokens) {
  std::vector<AddedToken> added;
  for (const TokenTable::Entry& entry : tokens.table.entries()) {
    const std::uint64_t type = tokens.types[entry.id];
    if (type != kControl && type != kUserDefined && type != kUnknown) continue;
    AddedToken token;
    token.content = tokens.table.text(entry);
    token.id = entry.id;
    if (valid_utf8_prefix(token.content) == token.content.size()) added.push_back(std::move(token));
  }
  return added;
}

// Adds BOS and EOS around the text, if requested.
PostSteps around(const Metadata& metadata, std::size_t count, bool bos, bool eos,
                 std::string_view bos_key = "bos_token_id", std::string_view eos_key = "eos_token_id") {
  PostStep step{PostStep::Kind::kTemplate, false, {}};
  const auto add = [&](std::string_view key) {
    const auto id = metadata.id(key, count);
    if (!id)
      metadata.fail(ErrorKind::kFormat,
                    fmt::format("tokenizer.ggml.{} is missing, but the tokenizer adds this token to every text", key));
    step.items.emplace_back(*id);
  };
  if (bos) add(bos_key);
  step.items.emplace_back(std::nullopt);
  if (eos) add(eos_key);
  return {std::move(step)};
}

void read_gpt2(const Metadata& metadata, GgufTokens tokens, TokenizerPipeline& pipeline) {
  const std::string_view name = metadata.find("pre") ? metadata.text("pre") : "default";
  const auto* const known = std::ranges::find(kCuttings, name, [](const auto& entry) { return entry.first; });
  if (known == kCuttings.end()) {
    metadata.fail(ErrorKind::kUnsupported,
                  fmt::format("tokenizer.ggml.pre: unknown pre-tokenizer '{}'; use the model's folder "
                              "with its tokenizer.json instead",
                              printable(name, 60)));
  }
  const PreTokenization& cutting = *known->second;
  for (const std::string_view regex : cutting.regexes) {
    if (!regex.empty()) pipeline.pre_tokenizers.steps.push_back(make_isolating_split(regex, metadata.where()));
  }
  const auto lines = metadata.list("merges", Vocabulary::kMaxTokens);
  if (!lines) metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.merges is missing");
  MergeTable merges(lines->size());
  MergeReader reader(tokens.table, 0, fmt::format("{}: tokenizer.ggml.merges", metadata.where()));
  for (const GgufValue& value : *lines) {
    const auto line = value.as_string();
    if (!line) metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.merges is not an array of strings");
    reader.add_line(*line, merges);
  }
  const std::size_t count = tokens.size();
  pipeline.post_steps = around(metadata, count, metadata.flag_or("add_bos_token", cutting.add_bos),
                               metadata.flag_or("add_eos_token", false));
  BpeOptions options;
  options.byte_level = true;
  options.ignore_merges = cutting.ignore_merges;
  pipeline.model_takes_bytes = true;
  pipeline.model = std::make_unique<BpeModel>(std::move(tokens.table), std::move(merges), std::move(options));
}

// Replaces spaces by marks; if requested, adds one before the text and after every special token.
void mark_spaces(const Metadata& metadata, TokenizerPipeline& pipeline) {
  if (metadata.flag_or("add_space_prefix", true)) pipeline.normalizers.push_back(make_prepend(" "));
  pipeline.normalizers.push_back(make_replace(" ", std::string(kSpaceMark)));
}

void read_llama(const Metadata& metadata, GgufTokens tokens, TokenizerPipeline& pipeline) {
  need_scores(tokens, metadata);
  const std::size_t count = tokens.size();
  mark_spaces(metadata, pipeline);
  const auto has_mark_inside = [&](const TokenTable::Entry& entry) {
    const std::string_view text = tokens.table.text(entry);
    const std::size_t at = text.rfind(kSpaceMark);
    return at != std::string_view::npos && at > 0 && !text.substr(0, at).ends_with(kSpaceMark);
  };
  if (std::ranges::none_of(tokens.table.entries(), has_mark_inside)) {
    pipeline.pre_tokenizers.steps.push_back(make_mark_split());
  }
  pipeline.post_steps =
      around(metadata, count, metadata.flag_or("add_bos_token", true), metadata.flag_or("add_eos_token", false));
  pipeline.model = std::make_unique<ScoredBpeModel>(std::move(tokens.table), std::move(tokens.scores),
                                                    metadata.id("unknown_token_id", count));
}

// Whether some word has a capital letter: a vocabulary without any was made from lowercase text.
bool has_capitals(const GgufTokens& tokens) {
  return std::ranges::any_of(tokens.table.entries(), [&](const TokenTable::Entry& entry) {
    const std::string_view text = tokens.table.text(entry);
    return tokens.types[entry.id] == kNormal && !text.starts_with('[') &&
           std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// Undoes the spelling of the converter: drops the space mark of tokens that start a word, adds "##" to the others.
TokenTable as_word_pieces(const GgufTokens& tokens, const Metadata& metadata) {
  TokenTable table;
  for (const TokenTable::Entry& entry : tokens.table.entries()) {
    const std::string_view text = tokens.table.text(entry);
    if (text.starts_with(kSpaceMark)) {
      table.add(text.substr(kSpaceMark.size()), entry.id);
    } else if (tokens.types[entry.id] != kNormal || (text.starts_with('[') && text.ends_with(']'))) {
      table.add(text, entry.id);
    } else {
      table.add(fmt::format("##{}", text), entry.id);
    }
  }
  table.finish(metadata.where());
  return table;
}

void read_bert(const Metadata& metadata, const GgufTokens& tokens, TokenizerPipeline& pipeline) {
  const bool cased = has_capitals(tokens);
  pipeline.normalizers.push_back(make_bert_normalizer({.strip_accents = !cased, .lowercase = !cased}));
  pipeline.pre_tokenizers.steps.push_back(make_bert_pre_tokenizer());
  const std::size_t count = tokens.size();
  const std::string_view cls = metadata.find("cls_token_id") ? "cls_token_id" : "bos_token_id";
  const std::string_view sep = metadata.find("seperator_token_id") ? "seperator_token_id" : "separator_token_id";
  pipeline.post_steps = around(metadata, count, metadata.flag_or("add_bos_token", true),
                               metadata.flag_or("add_eos_token", metadata.flag_or("add_sep_token", true)), cls,
                               metadata.find(sep) ? sep : "eos_token_id");
  WordPieceModel::Options options;
  const auto unknown = metadata.id("unknown_token_id", count);
  if (unknown) options.unknown = tokens.table.text(*unknown);
  pipeline.model = std::make_unique<WordPieceModel>(as_word_pieces(tokens, metadata), options);
}

void read_t5(const Metadata& metadata, GgufTokens tokens, TokenizerPipeline& pipeline) {
  need_scores(tokens, metadata);
  const std::size_t count = tokens.size();
  const auto unknown = metadata.id("unknown_token_id", count);
  if (!unknown) metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.unknown_token_id is missing");
  if (metadata.find("precompiled_charsmap")) {
    const auto bytes = metadata.list("precompiled_charsmap", std::size_t{1} << 26);
    std::string map;
    for (const GgufValue& value : *bytes) {
      const auto number = value.as_number();
      if (!number || *number < -128 || *number > 255) {
        metadata.fail(ErrorKind::kFormat, "tokenizer.ggml.precompiled_charsmap is not an array of bytes");
      }
      map.push_back(static_cast<char>(static_cast<int>(*number)));
    }
    pipeline.normalizers.push_back(
        make_charsmap_normalizer(Charsmap::parse(map, fmt::format("{}: tokenizer.ggml", metadata.where()))));
  }
  if (metadata.flag_or("remove_extra_whitespaces", true)) {
    pipeline.pre_tokenizers.steps.push_back(make_whitespace_split());
  }
  const bool space = metadata.flag_or("add_space_prefix", true);
  pipeline.pre_tokenizers.steps.push_back(
      make_metaspace(0x2581, space ? PrependScheme::kAlways : PrependScheme::kNever, true));
  pipeline.post_steps =
      around(metadata, count, metadata.flag_or("add_bos_token", false), metadata.flag_or("add_eos_token", true));
  std::vector<double> scores(tokens.scores.begin(), tokens.scores.end());
  pipeline.model = std::make_unique<UnigramModel>(std::move(tokens.table), std::move(scores), unknown, false);
}

}  // namespace

std::unique_ptr<const TokenizerPipeline> read_gguf_tokenizer(const Checkpoint& checkpoint) {
  const Metadata metadata(checkpoint);
  if (!metadata.find("tokens")) return nullptr;
  const std::string_view model = metadata.text("model");
  GgufTokens tokens = read_tokens(metadata);
  const std::vector<AddedToken> added = added_tokens(tokens);
  auto pipeline = std::make_unique<TokenizerPipeline>();
  if (model == "gpt2") {
    read_gpt2(metadata, std::move(tokens), *pipeline);
  } else if (model == "llama") {
    read_llama(metadata, std::move(tokens), *pipeline);
  } else if (model == "bert") {
    read_bert(metadata, tokens, *pipeline);
  } else if (model == "t5") {
    read_t5(metadata, std::move(tokens), *pipeline);
  } else {
    metadata.fail(ErrorKind::kUnsupported,
                  fmt::format("tokenizer.ggml.model '{}' is not supported; expected one of gpt2, llama, bert, t5",
                              printable(model, 60)));
  }
  pipeline->added.emplace(added, pipeline->normalizers, metadata.where());
  return pipeline;
}

}  // namespace headscope
