#include "headscope/tokenize/tokenizer.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/io/model_file.h"
#include "headscope/tokenize/utf8.h"
#include "tokenize/pipeline.h"

namespace headscope {
namespace {

// Offsets into the text and its normalized form have 32 bits; this leaves room for the latter to be almost four times
// as long.
constexpr std::size_t kMaxTextLength = std::size_t{1} << 30;

}  // namespace

std::optional<Tokenizer> Tokenizer::load(const Checkpoint& checkpoint) {
  std::shared_ptr<const TokenizerPipeline> pipeline;
  const std::filesystem::path& folder = checkpoint.path();
  if (checkpoint.is_gguf()) {
    pipeline = read_gguf_tokenizer(checkpoint);
  } else if (const std::filesystem::path file = folder / "tokenizer.json"; model_file_exists(file)) {
    pipeline = read_tokenizer_json(JsonDocument::open(file).root(), file.string());
  } else if (model_file_exists(folder / "vocab.json") && model_file_exists(folder / "merges.txt")) {
    pipeline = read_bpe_files(checkpoint);
  } else if (model_file_exists(folder / "vocab.txt")) {
    pipeline = read_word_piece_file(checkpoint);
  }
  if (!pipeline) return std::nullopt;
  return Tokenizer(std::move(pipeline));
}

Tokenizer Tokenizer::from_json(std::string_view text, std::string_view where) {
  return Tokenizer(read_tokenizer_json(JsonDocument::parse(text, where).root(), where));
}

std::vector<Token> Tokenizer::encode(std::string_view utf8, SpecialTokens special) const {
  if (utf8.size() >= kMaxTextLength) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("text: {} bytes, expected fewer than {}", utf8.size(), kMaxTextLength));
  }
  const std::size_t valid = valid_utf8_prefix(utf8);
  if (valid != utf8.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("text: byte {} of {} is not UTF-8; convert the text first", valid, utf8.size()));
  }
  return pipeline_->encode(utf8, special);
}

}  // namespace headscope
