#include "headscope/model/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/model_file.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// How stored tokens spell the bytes they represent.
enum class Spelling { kAsStored, kByteLevel, kSentencePiece };

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

// Real tokens are far shorter; the limit keeps lengths in 32 bits.
constexpr std::size_t kMaxTokenLength = 1 << 20;

// GPT-2 writes byte b as the character with that code if it is printable, and the other bytes, in order, as U+0100 and
// up. This is the inverse: the byte of a character, or -1.
constexpr auto kByteOfCharacter = [] {
  std::array<std::int16_t, 256 + 68> bytes{};
  bytes.fill(-1);
  std::size_t next = 256;
  for (std::size_t b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    bytes[visible ? b : next++] = static_cast<std::int16_t>(b);
  }
  return bytes;
}();

// Returns false if a character represents no byte: special tokens are stored as plain text among the encoded ones.
bool append_byte_level(std::string_view stored, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    std::size_t character = static_cast<unsigned char>(stored[i]);
    if (character >= 0xC2 && character <= 0xC5 && i + 1 < stored.size()) {
      // The characters that represent bytes take at most two bytes.
      const auto second = static_cast<unsigned char>(stored[++i]);
      character = (second & 0xC0) == 0x80 ? (character & 0x1F) << 6 | (second & 0x3F) : kByteOfCharacter.size();
    } else if (character >= 0x80) {
      character = kByteOfCharacter.size();
    }
    if (character >= kByteOfCharacter.size() || kByteOfCharacter[character] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(kByteOfCharacter[character]));
  }
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

void append_sentence_piece(std::string_view stored, std::string& out) {
  if (stored.size() == 6 && stored.starts_with("<0x") && stored.ends_with('>') && hex_digit(stored[3]) >= 0 &&
      hex_digit(stored[4]) >= 0) {
    out.push_back(static_cast<char>(hex_digit(stored[3]) * 16 + hex_digit(stored[4])));
    return;
  }
  for (std::size_t mark = stored.find(kSpaceMark); mark != std::string_view::npos; mark = stored.find(kSpaceMark)) {
    out.append(stored.substr(0, mark)).push_back(' ');
    stored.remove_prefix(mark + kSpaceMark.size());
  }
  out.append(stored);
}

// Whether a pre-tokenizer or decoder of tokenizer.json has this type, or is a sequence that contains one.
bool has_type(JsonValue step, std::string_view type) {
  if (step.find("type").as_string() == type) return true;
  for (const std::string_view parts : {"pretokenizers", "decoders"}) {
    for (const JsonValue part : step.find(parts).items()) {
      if (has_type(part, type)) return true;
    }
  }
  return false;
}

Spelling spelling_of(JsonValue root) {
  for (const std::string_view step : {"pre_tokenizer", "decoder"}) {
    if (has_type(root.find(step), "ByteLevel")) return Spelling::kByteLevel;
  }
  // Old files do not state the type. BPE that is not byte-level comes from SentencePiece.
  const JsonValue model = root.find("model");
  const auto type = model.find("type").as_string();
  const bool pieces =
      type ? *type == "BPE" || *type == "Unigram" : model.find("vocab").is_array() || model.find("merges").is_array();
  return pieces ? Spelling::kSentencePiece : Spelling::kAsStored;
}

Spelling spelling_of_gguf(const Checkpoint& checkpoint) {
  const auto value = checkpoint.metadata("tokenizer.ggml.model");
  const auto name = value ? value->as_string() : std::nullopt;
  if (name == "gpt2") return Spelling::kByteLevel;
  // The converter also writes WordPiece with space marks.
  if (name == "llama" || name == "t5" || name == "bert") return Spelling::kSentencePiece;
  return Spelling::kAsStored;
}

}  // namespace

// Collects the tokens of one file in any order.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(std::string where) : where_(std::move(where)) {}

  void add(std::uint64_t id, std::string_view stored, Spelling spelling) {
    if (id >= Vocabulary::kMaxTokens) {
      fail(fmt::format("token '{}' has id {}, expected at most {}", printable(stored, 60), id,
                       Vocabulary::kMaxTokens - 1));
    }
    if (stored.size() > kMaxTokenLength) {
      fail(fmt::format("the token with id {} is {} bytes long, expected at most {}", id, stored.size(),
                       kMaxTokenLength));
    }
    std::string& text = vocabulary_.text_;
    const std::size_t offset = text.size();
    if (spelling == Spelling::kSentencePiece) {
      append_sentence_piece(stored, text);
    } else if (spelling != Spelling::kByteLevel || !append_byte_level(stored, text)) {
      text.append(stored);
    }
    entries().push_back({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(text.size() - offset), offset});
  }

  // {"token": id, ...}
  void add_object(JsonValue tokens, Spelling spelling) {
    for (const auto [token, value] : tokens.members()) {
      const auto id = value.as_unsigned();
      if (!id) fail(fmt::format("the id of token '{}' is not a non-negative integer", printable(token, 60)));
      add(*id, token, spelling);
    }
  }

  // [["token", score], ...]; the id is the position.
  void add_list(JsonValue tokens, Spelling spelling) {
    std::uint64_t id = 0;
    for (const JsonValue item : tokens.items()) {
      const auto parts = item.items();
      const auto token = parts.begin() == parts.end() ? std::nullopt : (*parts.begin()).as_string();
      if (!token) fail(fmt::format("entry {} of model.vocab is not a pair of a token and its score", id));
      add(id++, *token, spelling);
    }
  }

  void add_tokenizer_json(JsonValue root) {
    const JsonValue tokens = root.find("model").find("vocab");
    if (tokens.is_array()) {
      add_list(tokens, spelling_of(root));
    } else if (tokens.is_object()) {
      add_object(tokens, spelling_of(root));
    } else {
      fail("model.vocab is neither an object nor a list of tokens");
    }
    check_ids();
    const JsonValue added = root.find("added_tokens");
    if (!added.is_null() && !added.is_array()) fail("added_tokens is not a list");
    const std::size_t in_model = entries().size();
    for (const JsonValue item : added.items()) {
      const auto id = item.find("id").as_unsigned();
      const auto content = item.find("content").as_string();
      if (!id || !content) {
        fail(fmt::format("entry {} of added_tokens lacks a non-negative id or a content", entries().size() - in_model));
      }
      add(*id, *content, Spelling::kAsStored);
    }
    let_added_replace(in_model);
  }

  // Every line is a token; the last line may lack a newline.
  void add_lines(std::string_view text) {
    for (std::uint64_t id = 0; !text.empty(); ++id) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      add(id, line, Spelling::kAsStored);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void add_gguf(const GgufValue& tokens, Spelling spelling) {
    const auto count = tokens.array_size();
    if (!count) fail("tokenizer.ggml.tokens is not an array");
    if (*count > Vocabulary::kMaxTokens) {  // check before allocating for them
      fail(fmt::format("tokenizer.ggml.tokens holds {} elements, expected at most {}", *count, Vocabulary::kMaxTokens));
    }
    const auto array = tokens.as_array();
    for (std::size_t id = 0; id < array->size(); ++id) {
      const auto token = (*array)[id].as_string();
      if (!token) fail("tokenizer.ggml.tokens is not an array of strings");
      add(id, *token, spelling);
    }
  }

  Vocabulary finish() {
    check_ids();
    return std::move(vocabulary_);
  }

 private:
  using Entry = Vocabulary::Entry;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where_, what));
  }

  std::vector<Entry>& entries() noexcept { return vocabulary_.entries_; }

  [[nodiscard]] std::string shown(const Entry& entry) const {
    return printable(std::string_view(vocabulary_.text_).substr(entry.offset, entry.length), 60);
  }

  // Sorts by id and rejects duplicate ids.
  void check_ids() {
    std::ranges::stable_sort(entries(), {}, &Entry::id);
    const auto twice = std::ranges::adjacent_find(entries(), {}, &Entry::id);
    if (twice == entries().end()) return;
    fail(fmt::format("duplicate id {} for tokens '{}' and '{}'", twice->id, shown(*twice), shown(*(twice + 1))));
  }

  // Entries from `first` on replace earlier ones with the same id.
  void let_added_replace(std::size_t first) {
    std::vector<std::uint32_t> ids;
    for (std::size_t i = first; i < entries().size(); ++i) ids.push_back(entries()[i].id);
    std::ranges::sort(ids);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries().size(); ++i) {
      if (i < first && std::ranges::binary_search(ids, entries()[i].id)) continue;
      entries()[kept++] = entries()[i];
    }
    entries().resize(kept);
  }

  std::string where_;
  Vocabulary vocabulary_;
};

std::optional<Vocabulary> Vocabulary::load(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) {
    const auto tokens = checkpoint.metadata("tokenizer.ggml.tokens");
    if (!tokens) return std::nullopt;
    VocabularyBuilder builder(checkpoint.path().string());
    builder.add_gguf(*tokens, spelling_of_gguf(checkpoint));
    return builder.finish();
  }
  const fs::path& folder = checkpoint.path();
  if (const fs::path file = folder / "tokenizer.json"; model_file_exists(file)) {
    VocabularyBuilder builder(file.string());
    builder.add_tokenizer_json(JsonDocument::open(file).root());
    return builder.finish();
  }
  if (const fs::path file = folder / "vocab.json"; model_file_exists(file)) {
    VocabularyBuilder builder(file.string());
    const JsonDocument document = JsonDocument::open(file);
    if (!document.root().is_object()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: is not an object of tokens and ids", file.string()));
    }
    // With merges it is BPE, and BPE in this form is GPT-2's.
    builder.add_object(document.root(),
                       model_file_exists(folder / "merges.txt") ? Spelling::kByteLevel : Spelling::kAsStored);
    return builder.finish();
  }
  if (const fs::path file = folder / "vocab.txt"; model_file_exists(file)) {
    VocabularyBuilder builder(file.string());
    builder.add_lines(as_text(MappedFile::open(file).bytes()));
    return builder.finish();
  }
  return std::nullopt;
}

std::string Vocabulary::token(std::size_t id) const {
  const auto found = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  if (found == entries_.end() || found->id != id) return fmt::format("<id {}>", id);
  return printable(std::string_view(text_).substr(found->offset, found->length));
}

}  // namespace headscope
