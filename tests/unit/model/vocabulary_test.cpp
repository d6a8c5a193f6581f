#include "headscope/model/vocabulary.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/expect_error.h"
#include "support/gguf_bytes.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::Bytes;
using test::GgufBytes;
using test::TemporaryFolder;
using test::TinyGpt2;

// A model whose folder holds other files as well.
class VocabularyOfFolder : public testing::Test {
 protected:
  VocabularyOfFolder() { TinyGpt2().write(folder_); }

  [[nodiscard]] std::optional<Vocabulary> load() const { return Vocabulary::load(Checkpoint::open(folder_.path())); }
  [[nodiscard]] Vocabulary load_tokenizer(std::string_view json) const {
    folder_.write("tokenizer.json", json);
    return load().value();
  }

  const TemporaryFolder folder_;
};

// U+0120 is GPT-2's space, U+010A its newline, U+00E2 U+0124 U+00AC the three bytes of the euro sign.
constexpr std::string_view kByteLevelTokens =
    R"({"\u0120the": 0, "\u010a": 1, "\u00e2\u0124\u00ac": 2, "\u00e2\u0124": 3, "caf\u00c3\u00a9": 4,
        "<|endoftext|>": 5, "\u4e2d": 7})";

void expect_byte_level(const Vocabulary& vocabulary) {
  EXPECT_EQ(vocabulary.token(0), " the");
  EXPECT_EQ(vocabulary.token(1), "\\x0a");
  EXPECT_EQ(vocabulary.token(2), "\xE2\x82\xAC");
  EXPECT_EQ(vocabulary.token(3), "\\xe2\\x82");  // a part of a character
  EXPECT_EQ(vocabulary.token(4), "caf\xC3\xA9");
  EXPECT_EQ(vocabulary.token(5), "<|endoftext|>");
  EXPECT_EQ(vocabulary.token(6), "<id 6>");
  EXPECT_EQ(vocabulary.token(7), "\xE4\xB8\xAD");  // stands for no byte: as stored
  EXPECT_EQ(vocabulary.token(123), "<id 123>");
}

TEST_F(VocabularyOfFolder, IsNothingWithoutAFile) {
  EXPECT_FALSE(load().has_value());
}

TEST_F(VocabularyOfFolder, DecodesByteLevelTokensWhereverTheTokenizerSaysSo) {
  const std::string model = R"("model": {"type": "BPE", "vocab": )" + std::string(kByteLevelTokens) + "}";
  for (
      const std::string_view step :
      {R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": null)",
       R"("decoder": {"type": "ByteLevel"})",
       R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split"}, {"type": "ByteLevel"}]})",
       R"("decoder": {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}]})"}) {
    expect_byte_level(load_tokenizer("{" + std::string(step) + ", " + model + "}"));
  }
}

TEST_F(VocabularyOfFolder, DecodesEveryByte) {
  // GPT-2's own bytes_to_unicode, written as its source does.
  std::vector<int> characters(256, -1);
  for (int b = '!'; b <= '~'; ++b) characters[static_cast<std::size_t>(b)] = b;
  for (int b = 0xA1; b <= 0xAC; ++b) characters[static_cast<std::size_t>(b)] = b;
  for (int b = 0xAE; b <= 0xFF; ++b) characters[static_cast<std::size_t>(b)] = b;
  int next = 256;
  std::string tokens;
  for (std::size_t b = 0; b < 256; ++b) {
    if (characters[b] < 0) characters[b] = next++;
    char text[40];
    std::snprintf(text, sizeof text, "%s\"\\u%04x\": %zu", b == 0 ? "" : ", ", static_cast<unsigned>(characters[b]), b);
    tokens += text;
  }
  folder_.write("vocab.json", "{" + tokens + "}");
  folder_.write("merges.txt", "#version: 0.2\n");
  const auto vocabulary = load();
  ASSERT_EQ(vocabulary->size(), 256u);
  for (std::size_t b = 0; b < 256; ++b) {
    EXPECT_EQ(vocabulary->token(b), printable(std::string(1, static_cast<char>(b)))) << b;
  }
}

TEST_F(VocabularyOfFolder, ShowsSpacesAndBytesOfSentencePiece) {
  const Vocabulary bpe = load_tokenizer(
      R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}]},
          "model": {"type": "BPE", "vocab": {"<unk>": 0, "<0x0A>": 1, "<0xe2>": 2, "\u2581the": 3, "a\u2581b\u2581": 4,
                                             "<0x41>": 5, "<0x4G>": 6, "\u0120": 7}}})");
  EXPECT_EQ(bpe.token(0), "<unk>");
  EXPECT_EQ(bpe.token(1), "\\x0a");
  EXPECT_EQ(bpe.token(2), "\\xe2");
  EXPECT_EQ(bpe.token(3), " the");
  EXPECT_EQ(bpe.token(4), "a b ");
  EXPECT_EQ(bpe.token(5), "A");
  EXPECT_EQ(bpe.token(6), "<0x4G>");
  EXPECT_EQ(bpe.token(7), "\xC4\xA0");  // not byte-level
  for (const std::string_view type : {R"("type": "Unigram", )", ""}) {
    const Vocabulary unigram =
        load_tokenizer(R"({"model": {)" + std::string(type) +
                       R"("unk_id": 0, "vocab": [["<pad>", 0.0], ["\u2581of", -3.5], ["s", -4]]}})");
    EXPECT_EQ(unigram.size(), 3u);
    EXPECT_EQ(unigram.token(1), " of");
    EXPECT_EQ(unigram.token(2), "s");
  }
}

TEST_F(VocabularyOfFolder, KeepsWordPieceAsStored) {
  const Vocabulary json = load_tokenizer(R"({"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "##ing": 1}}})");
  EXPECT_EQ(json.token(0), "[PAD]");
  EXPECT_EQ(json.token(1), "##ing");
  std::filesystem::remove(folder_.path() / "tokenizer.json");
  for (const std::string_view text : {"[PAD]\n##ing\n\nend", "[PAD]\r\n##ing\r\n\r\nend\r\n"}) {
    folder_.write("vocab.txt", text);
    const auto lines = load();
    EXPECT_EQ(lines->size(), 4u);
    EXPECT_EQ(lines->token(0), "[PAD]");
    EXPECT_EQ(lines->token(1), "##ing");
    EXPECT_EQ(lines->token(2), "");
    EXPECT_EQ(lines->token(3), "end");
  }
}

TEST_F(VocabularyOfFolder, TakesVocabJsonAsByteLevelOnlyBesideMerges) {
  folder_.write("vocab.json", kByteLevelTokens);
  EXPECT_EQ(load()->token(0), "\xC4\xA0the");
  folder_.write("merges.txt", "#version: 0.2\n");
  expect_byte_level(*load());
}

TEST_F(VocabularyOfFolder, PrefersTokenizerJsonThenVocabJson) {
  folder_.write("vocab.txt", "text\n");
  folder_.write("vocab.json", R"({"json": 0})");
  EXPECT_EQ(load()->token(0), "json");
  EXPECT_EQ(load_tokenizer(R"({"model": {"vocab": {"tokenizer": 0}}})").token(0), "tokenizer");
}

TEST_F(VocabularyOfFolder, LetsAddedTokensReplaceAndExtendWithoutDecodingThem) {
  const Vocabulary vocabulary = load_tokenizer(
      R"({"added_tokens": [{"id": 1, "content": "<caf\u00e9>", "special": true}, {"id": 9999999, "content": "\u2581x"}],
          "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}}})");
  EXPECT_EQ(vocabulary.token(0), "a");
  EXPECT_EQ(vocabulary.token(1), "<caf\xC3\xA9>");
  EXPECT_EQ(vocabulary.token(2), "c");
  EXPECT_EQ(vocabulary.token(9999999), "\xE2\x96\x81x");
  EXPECT_EQ(vocabulary.size(), 10'000'000u);
}

TEST_F(VocabularyOfFolder, CutsLongTokens) {
  folder_.write("vocab.txt", std::string(5000, 'a'));
  EXPECT_EQ(load()->token(0), std::string(200, 'a') + "...");
}

TEST_F(VocabularyOfFolder, RefusesBrokenFilesWithOneLine) {
  struct Case {
    std::string_view file;
    std::string text;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"tokenizer.json", "", "not valid JSON"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": 0})", "not valid JSON"},
      {"tokenizer.json", "[]", "model.vocab is neither"},
      {"tokenizer.json", R"({"model": {"type": "BPE"}})", "model.vocab is neither"},
      {"tokenizer.json", R"({"model": {"vocab": "a"}})", "model.vocab is neither"},
      {"tokenizer.json", R"({"model": {"vocab": {"a\nb": "0"}}})",
       "the id of token 'a\\x0ab' is not a non-negative integer"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": -1}}})", "the id of token 'a' is not"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": 0.5}}})", "the id of token 'a' is not"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": null}}})", "the id of token 'a' is not"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": 10000000}}})", "has id 10000000, expected at most 9999999"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": 1e300}}})", "the id of token 'a' is not"},
      {"tokenizer.json", R"({"model": {"vocab": {"a": 3, "b": 1, "c": 3}}})", "duplicate id 3 for tokens 'a' and 'c'"},
      {"tokenizer.json", R"({"model": {"vocab": [["a", 0], []]}})", "entry 1 of model.vocab is not a pair"},
      {"tokenizer.json", R"({"model": {"vocab": [["a", 0], [1, "b"]]}})", "entry 1 of model.vocab is not a pair"},
      {"tokenizer.json", R"({"model": {"vocab": ["a"]}})", "entry 0 of model.vocab is not a pair"},
      {"tokenizer.json", R"({"model": {"vocab": {}}, "added_tokens": {}})", "added_tokens is not a list"},
      {"tokenizer.json", R"({"model": {"vocab": {}}, "added_tokens": [7]})", "entry 0 of added_tokens lacks"},
      {"tokenizer.json", R"({"model": {"vocab": {}}, "added_tokens": [{"id": 1, "content": 2}]})",
       "lacks a non-negative id"},
      {"tokenizer.json", R"({"model": {"vocab": {}}, "added_tokens": [{"id": "1", "content": "a"}]})",
       "lacks a non-negative id"},
      {"tokenizer.json",
       R"({"model": {"vocab": {}}, "added_tokens": [{"id": 1, "content": "a"}, {"id": 1, "content": "b"}]})",
       "duplicate id 1 for tokens"},
      {"vocab.json", R"(["a"])", "is not an object of tokens and ids"},
      {"vocab.json", R"({"a": [0]})", "the id of token 'a' is not"},
      {"vocab.txt", std::string((1 << 20) + 1, 'a'), "is 1048577 bytes long, expected at most 1048576"},
  };
  for (const auto& [file, text, message] : cases) {
    SCOPED_TRACE(text.substr(0, 100));
    folder_.write(file, text);
    EXPECT_ERROR(load(), ErrorKind::kFormat, message);
    EXPECT_ERROR(load(), ErrorKind::kFormat, std::string(file) + ": ");
    std::filesystem::remove(folder_.path() / file);
  }
}

Bytes strings(const std::vector<std::string>& texts) {
  Bytes bytes;
  bytes.add<std::uint32_t>(static_cast<std::uint32_t>(GgufType::kString)).add<std::uint64_t>(texts.size());
  for (const std::string& text : texts) bytes.add_text(GgufBytes::text(text).str());
  return bytes;
}

std::optional<Vocabulary> load(const GgufBytes& gguf) {
  const TemporaryFolder folder;
  return Vocabulary::load(Checkpoint::open(folder.write("model.gguf", gguf.str())));
}

TEST(VocabularyOfGguf, IsReadAsItsTokenizerSays) {
  const Bytes tokens = strings({"\xC4\xA0the", "\xE2\x96\x81the", "<0x0A>", "\xFF", "same", "same"});
  const auto with = [&](std::string_view model) {
    GgufBytes gguf;
    if (!model.empty()) gguf.add_string("tokenizer.ggml.model", model);
    return load(gguf.add("tokenizer.ggml.tokens", GgufType::kArray, tokens)).value();
  };
  EXPECT_EQ(with("gpt2").token(0), " the");
  EXPECT_EQ(with("gpt2").token(1), "\xE2\x96\x81the");
  EXPECT_EQ(with("gpt2").token(2), "<0x0A>");
  EXPECT_EQ(with("gpt2").token(3), "\\xff");
  EXPECT_EQ(with("gpt2").token(5), "same");
  for (const std::string_view model : {"llama", "bert", "t5"}) EXPECT_EQ(with(model).token(1), " the");
  EXPECT_EQ(with("llama").token(0), "\xC4\xA0the");
  EXPECT_EQ(with("llama").token(2), "\\x0a");
  EXPECT_EQ(with("").token(0), "\xC4\xA0the");
  EXPECT_EQ(with("").token(6), "<id 6>");
}

TEST(VocabularyOfGguf, IsNothingOrAnErrorWithoutStrings) {
  EXPECT_FALSE(load(GgufBytes()).has_value());
  EXPECT_ERROR(load(GgufBytes().add_u32("tokenizer.ggml.tokens", 3)), ErrorKind::kFormat,
               "model.gguf: tokenizer.ggml.tokens is not an array");
  const Bytes numbers = Bytes().add<std::uint32_t>(0).add<std::uint64_t>(2).add_text("ab");
  EXPECT_ERROR(load(GgufBytes().add("tokenizer.ggml.tokens", GgufType::kArray, numbers)), ErrorKind::kFormat,
               "is not an array of strings");
  const std::string letters(10'000'001, 'a');  // NOLINT(bugprone-string-constructor): too long on purpose
  const Bytes many = Bytes().add<std::uint32_t>(0).add<std::uint64_t>(letters.size()).add_text(letters);
  EXPECT_ERROR(load(GgufBytes().add("tokenizer.ggml.tokens", GgufType::kArray, many)), ErrorKind::kFormat,
               "holds 10000001 elements, expected at most 10000000");
}

}  // namespace
}  // namespace headscope
