// The tokenizer files before tokenizer.json: vocab.json with merges.txt, or vocab.txt. They hold only the vocabulary;
// how text is split depends on the class of the tokenizer or model, so only known classes are read.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/model_file.h"
#include "headscope/model/vocabulary.h"
#include "tokenize/bpe_model.h"
#include "tokenize/merges.h"
#include "tokenize/other_models.h"
#include "tokenize/pipeline.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// tokenizer_config.json, and the class of the tokenizer.
class Settings {
 public:
  explicit Settings(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    const fs::path file = checkpoint.path() / "tokenizer_config.json";
    if (model_file_exists(file)) document_.emplace(JsonDocument::open(file));
  }

  [[nodiscard]] JsonValue find(std::string_view key) const noexcept {
    return document_ ? document_->root().find(key) : JsonValue();
  }
  [[nodiscard]] bool flag_or(std::string_view key, bool otherwise) const {
    return find(key).as_bool().value_or(otherwise);
  }
  // Returns a token, which older files write as {"content": ...}.
  [[nodiscard]] std::string_view token_or(std::string_view key, std::string_view otherwise) const {
    const JsonValue value = find(key);
    const auto text = value.is_object() ? value.find("content").as_string() : value.as_string();
    return text.value_or(otherwise);
  }
  // Returns the tokenizer class without "Fast", else the model type.
  [[nodiscard]] std::string name() const {
    std::string_view name = find("tokenizer_class").as_string().value_or("");
    if (name.empty()) name = checkpoint_.config().find("model_type").as_string().value_or("");
    if (name.ends_with("Fast")) name.remove_suffix(4);
    return std::string(name);
  }
  // Reads the tokens listed in added_tokens_decoder, which are matched in the text.
  void read_added(std::vector<AddedToken>& added) const {
    const Component list(
        find("added_tokens_decoder"),
        fmt::format("{}: added_tokens_decoder", (checkpoint_.path() / "tokenizer_config.json").string()));
    for (const auto [id, value] : list.value().members()) {
      const Component item(value, list.where());
      AddedToken token;
      token.content = item.text("content");
      std::uint64_t number = 0;
      for (const char c : id) {
        if (c < '0' || c > '9' || id.size() > 9)
          list.malformed(fmt::format("has '{}' as an id, expected a non-negative integer", printable(id, 60)));
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
      }
      token.id = checked_id(number, list);
      token.single_word = item.flag_or("single_word", false);
      token.strip_left = item.flag_or("lstrip", false);
      token.strip_right = item.flag_or("rstrip", false);
      token.normalized = item.flag_or("normalized", !item.flag_or("special", false));
      added.push_back(std::move(token));
    }
  }

 private:
  const Checkpoint& checkpoint_;
  std::optional<JsonDocument> document_;
};

void add_special(const TokenTable& tokens, std::string_view content, std::vector<AddedToken>& added) {
  const auto id = tokens.find(content);
  if (!id || std::ranges::any_of(added, [&](const AddedToken& token) { return token.content == content; })) return;
  AddedToken token;
  token.content = content;
  token.id = *id;
  token.strip_left = content == "<mask>";  // RoBERTa's includes the space before it
  added.push_back(std::move(token));
}

std::uint32_t need_id(const TokenTable& tokens, std::string_view content, const std::string& where) {
  const auto id = tokens.find(content);
  if (!id) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: lacks token '{}', which is added to every text", where, printable(content, 60)));
  }
  return *id;
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Calls `visit` for each line of a text, without its line ending.
template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// What distinguishes the classes that use vocab.json and merges.txt.
struct BpeClass {
  std::string_view bos;
  std::string_view eos;
  std::string_view pad;
  std::string_view unknown;
  std::string_view mask;
  bool before = false;  // add BOS before a text
  bool around = false;  // add BOS before and EOS after a text
};
constexpr BpeClass kGpt2Class = {"<|endoftext|>", "<|endoftext|>", "", "", ""};
constexpr BpeClass kOpt = {"</s>", "</s>", "<pad>", "", "", true, false};
constexpr BpeClass kRoberta = {"<s>", "</s>", "<pad>", "<unk>", "<mask>", false, true};

[[noreturn]] void throw_unknown_class(const fs::path& file, std::string_view name) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: headscope cannot tokenize for '{}' without a tokenizer.json; save one with transformers",
                          file.string(), printable(name, 60)));
}

BpeClass bpe_class(const Settings& settings, const Checkpoint& checkpoint, const fs::path& file) {
  const std::string name = settings.name();
  if (is_one_of<4>(name, {"RobertaTokenizer", "roberta", "BartTokenizer", "bart"})) return kRoberta;
  // OPT uses GPT-2's class with other tokens.
  const bool gpt2 = is_one_of<5>(name, {"GPT2Tokenizer", "gpt2", "gpt_neo", "gptj", "codegen"});
  if (name == "opt" || (gpt2 && checkpoint.config().find("model_type").as_string() == "opt")) return kOpt;
  if (!gpt2) throw_unknown_class(file, name);
  return kGpt2Class;
}

MergeTable read_merges_file(const fs::path& file, const TokenTable& tokens) {
  const MappedFile mapped = MappedFile::open(file);
  MergeTable merges;
  MergeReader reader(tokens, 0, file.string());
  for_each_line(as_text(mapped.bytes()), [&](std::string_view line) {
    if (!line.empty()) reader.add_line(line, merges);
  });
  return merges;
}

TokenTable read_lines(const fs::path& file) {
  TokenTable tokens;
  const MappedFile mapped = MappedFile::open(file);
  for_each_line(as_text(mapped.bytes()), [&](std::string_view line) {
    tokens.add(line, checked_id(tokens.entries().size(), Component({}, file.string())));
  });
  tokens.finish(file.string());
  return tokens;
}

}  // namespace

std::unique_ptr<const TokenizerPipeline> read_bpe_files(const Checkpoint& checkpoint) {
  const fs::path file = checkpoint.path() / "vocab.json";
  const Settings settings(checkpoint);
  const BpeClass family = bpe_class(settings, checkpoint, file);
  const JsonDocument document = JsonDocument::open(file);
  TokenTable tokens = read_token_ids(Component(document.root(), file.string()));
  MergeTable merges = read_merges_file(checkpoint.path() / "merges.txt", tokens);

  auto pipeline = std::make_unique<TokenizerPipeline>();
  const bool space = settings.flag_or("add_prefix_space", false);
  pipeline->pre_tokenizers.steps.push_back(make_byte_level(space, true));
  const std::string_view bos = settings.token_or("bos_token", family.bos);
  const std::string_view eos = settings.token_or("eos_token", family.eos);
  std::vector<AddedToken> added;
  settings.read_added(added);
  for (const std::string_view content :
       {bos, eos, settings.token_or("pad_token", family.pad), settings.token_or("unk_token", family.unknown),
        settings.token_or("mask_token", family.mask)}) {
    add_special(tokens, content, added);
  }
  const std::string where = file.string();
  if (family.around) {
    pipeline->post_steps.push_back({PostStep::Kind::kTrim, space, {}});
    pipeline->post_steps.push_back(
        {PostStep::Kind::kTemplate, false, {need_id(tokens, bos, where), std::nullopt, need_id(tokens, eos, where)}});
  } else if (settings.flag_or("add_bos_token", family.before)) {
    pipeline->post_steps.push_back({PostStep::Kind::kTemplate, false, {need_id(tokens, bos, where), std::nullopt}});
  }
  BpeOptions options;
  options.byte_level = true;
  pipeline->model_takes_bytes = true;
  pipeline->model = std::make_unique<BpeModel>(std::move(tokens), std::move(merges), std::move(options));
  pipeline->added.emplace(added, pipeline->normalizers, where);
  return pipeline;
}

// Whether some word has a capital letter: a vocabulary without any was made from lowercase text.
bool has_capitals(const TokenTable& tokens) {
  return std::ranges::any_of(tokens.entries(), [&](const TokenTable::Entry& entry) {
    const std::string_view text = tokens.text(entry);
    return !text.starts_with('[') && std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

std::unique_ptr<const TokenizerPipeline> read_word_piece_file(const Checkpoint& checkpoint) {
  const fs::path file = checkpoint.path() / "vocab.txt";
  const Settings settings(checkpoint);
  const std::string name = settings.name();
  if (!is_one_of<6>(name,
                    {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "bert", "distilbert", "electra"})) {
    throw_unknown_class(file, name);
  }
  TokenTable tokens = read_lines(file);
  auto pipeline = std::make_unique<TokenizerPipeline>();
  BertNormalizerOptions options;
  options.lowercase = settings.flag_or("do_lower_case", !has_capitals(tokens));
  options.strip_accents = settings.flag_or("strip_accents", options.lowercase);
  options.handle_chinese_chars = settings.flag_or("tokenize_chinese_chars", true);
  pipeline->normalizers.push_back(make_bert_normalizer(options));
  pipeline->pre_tokenizers.steps.push_back(make_bert_pre_tokenizer());
  std::vector<AddedToken> added;
  settings.read_added(added);
  const std::string_view cls = settings.token_or("cls_token", "[CLS]");
  const std::string_view sep = settings.token_or("sep_token", "[SEP]");
  const std::string_view unknown = settings.token_or("unk_token", "[UNK]");
  for (const std::string_view content :
       {cls, sep, unknown, settings.token_or("pad_token", "[PAD]"), settings.token_or("mask_token", "[MASK]")}) {
    add_special(tokens, content, added);
  }
  const std::string where = file.string();
  pipeline->post_steps.push_back(
      {PostStep::Kind::kTemplate, false, {need_id(tokens, cls, where), std::nullopt, need_id(tokens, sep, where)}});
  WordPieceModel::Options model;
  model.unknown = unknown;
  pipeline->model = std::make_unique<WordPieceModel>(std::move(tokens), model);
  pipeline->added.emplace(added, pipeline->normalizers, where);
  return pipeline;
}

}  // namespace headscope
