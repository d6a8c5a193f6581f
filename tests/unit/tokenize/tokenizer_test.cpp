#include "headscope/tokenize/tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
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

// U+0120 is GPT-2's character for a space; U+00C3 U+00A9 are those for the bytes of e with an acute accent.
constexpr std::string_view kByteLevel = R"({
  "added_tokens": [{"id": 9, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true}],
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}},
                     {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                     "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [9], "tokens": ["<|end|>"]}}},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, "\u00c3": 3, "\u00a9": 4, "ab": 5,
                                    "\u0120ab": 6, "aa": 7, "aaaa": 8},
            "merges": ["a b", ["\u0120", "ab"], "a a", "aa aa"]}})";

Tokenizer byte_level() {
  return Tokenizer::from_json(kByteLevel, "t.json");
}

std::vector<std::uint32_t> ids(const std::vector<Token>& tokens) {
  std::vector<std::uint32_t> found;
  for (const Token& token : tokens) found.push_back(token.id);
  return found;
}

TEST(Tokenizer, SaysWhichBytesOfTheTextATokenCameFrom) {
  const std::vector<Token> tokens = byte_level().encode("ab ab");
  EXPECT_EQ(tokens, (std::vector<Token>{{9, 0, 0}, {5, 0, 2}, {6, 2, 5}}));
}

TEST(Tokenizer, GivesPartsOfACharacterTheRangeOfTheWhole) {
  const std::vector<Token> tokens = byte_level().encode("a\xC3\xA9", SpecialTokens::kNone);
  EXPECT_EQ(tokens, (std::vector<Token>{{0, 0, 1}, {3, 1, 3}, {4, 1, 3}}));
}

TEST(Tokenizer, FindsSpecialTokensInTheTextAlsoWhereNoneAreAdded) {
  EXPECT_EQ(byte_level().encode("a<|end|>b", SpecialTokens::kNone),
            (std::vector<Token>{{0, 0, 1}, {9, 1, 8}, {1, 8, 9}}));
}

TEST(Tokenizer, EncodesNothingAsNothingButWhatIsAdded) {
  EXPECT_EQ(byte_level().encode(""), (std::vector<Token>{{9, 0, 0}}));
  EXPECT_TRUE(byte_level().encode("", SpecialTokens::kNone).empty());
}

TEST(Tokenizer, RangesCoverTheTextInOrder) {
  const std::string text = "ab aab\xC3\xA9  b<|end|>a";
  std::size_t at = 0;
  for (const Token& token : byte_level().encode(text, SpecialTokens::kNone)) {
    EXPECT_LE(token.begin, at);  // parts of a character repeat its range
    at = token.end;
  }
  EXPECT_EQ(at, text.size());
}

TEST(Tokenizer, MergesAWordOfAMegabyte) {
  const std::vector<Token> tokens = byte_level().encode(std::string(1 << 20, 'a'), SpecialTokens::kNone);
  EXPECT_EQ(tokens.size(), std::size_t{1} << 18);
  EXPECT_EQ(tokens.back(), (Token{8, (1 << 20) - 4, 1 << 20}));
}

TEST(Tokenizer, IsSharedByThreads) {
  const Tokenizer tokenizer = byte_level();
  const std::vector<Token> expected = tokenizer.encode("ab ab a<|end|>");
  std::vector<std::vector<Token>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<Token>& result : found) {
    threads.emplace_back([&] { result = tokenizer.encode("ab ab a<|end|>"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Token>& result : found) EXPECT_EQ(result, expected);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  for (const std::string_view text : {"ab\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_ERROR(byte_level().encode(text), ErrorKind::kInvalidArgument, "is not UTF-8");
  }
}

TEST(Tokenizer, RefusesWhatHasNoTokenWhereNothingStandsForTheUnknown) {
  const Tokenizer tokenizer =
      Tokenizer::from_json(R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0}}})", "t.json");
  EXPECT_EQ(ids(tokenizer.encode("a")), (std::vector<std::uint32_t>{0}));
  EXPECT_ERROR(tokenizer.encode("b\n"), ErrorKind::kInvalidArgument, "'b\\x0a' has no token");
}

TEST(Tokenizer, GivesUpWhereARegularExpressionBacktracksWithoutEnd) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:a|a|a)+[^a]"},
                             "behavior": "Isolated", "invert": false},
          "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})",
      "t.json");
  EXPECT_ERROR(tokenizer.encode(std::string(60, 'a')), ErrorKind::kResource, "gives up at byte 0 of 60");
}

TEST(Tokenizer, RefusesToMakeATextMuchLonger) {
  const std::string json = R"({"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                           std::string(100000, 'b') +
                           R"("}, "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})";
  const Tokenizer tokenizer = Tokenizer::from_json(json, "t.json");
  EXPECT_EQ(ids(tokenizer.encode("b")), (std::vector<std::uint32_t>{0}));
  EXPECT_ERROR(tokenizer.encode(std::string(1000, 'a')), ErrorKind::kResource, "more than 64 times as long");
}

class TokenizerOfFolder : public testing::Test {
 protected:
  TokenizerOfFolder() { TinyGpt2().write(folder_); }
  [[nodiscard]] std::optional<Tokenizer> load() const { return Tokenizer::load(Checkpoint::open(folder_.path())); }

  const TemporaryFolder folder_;
};

TEST_F(TokenizerOfFolder, IsNothingWithoutAFile) {
  EXPECT_FALSE(load().has_value());
  folder_.write("vocab.json", "{}");  // without merges it says nothing of how to cut
  EXPECT_FALSE(load().has_value());
}

TEST_F(TokenizerOfFolder, PrefersTokenizerJson) {
  folder_.write("tokenizer.json", kByteLevel);
  folder_.write("vocab.txt", "broken");
  EXPECT_EQ(ids(load()->encode("ab")), (std::vector<std::uint32_t>{9, 5}));
}

TEST_F(TokenizerOfFolder, ReadsVocabJsonAndMergesTxtOfAKnownModel) {
  folder_.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})");
  folder_.write("merges.txt", "#version: 0.2\na b\n");
  EXPECT_EQ(ids(load()->encode("aab<|endoftext|>")), (std::vector<std::uint32_t>{0, 2, 3}));
  folder_.write("tokenizer_config.json", R"({"tokenizer_class": "StrangeTokenizer"})");
  EXPECT_ERROR(load(), ErrorKind::kUnsupported, "headscope cannot tokenize for 'StrangeTokenizer'");
  folder_.write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  EXPECT_ERROR(load(), ErrorKind::kFormat, "lacks token '<s>'");
  folder_.write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "c"}}})");
  EXPECT_ERROR(load(), ErrorKind::kFormat, "has 'x' as an id, expected a non-negative integer");
  folder_.write("tokenizer_config.json", "{}");
  folder_.write("merges.txt", "a b c\n");
  EXPECT_ERROR(load(), ErrorKind::kFormat, "merge 0 is 'a b c', expected two tokens");
}

TEST_F(TokenizerOfFolder, RefusesVocabTxtOfAnUnknownModel) {
  folder_.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_ERROR(load(), ErrorKind::kUnsupported, "headscope cannot tokenize for 'gpt2'");
  folder_.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(ids(load()->encode("A b")), (std::vector<std::uint32_t>{1, 3, 0, 2}));
}

TEST_F(TokenizerOfFolder, LowercasesVocabTxtUnlessItHasCapitals) {
  folder_.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  folder_.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nB\n");
  EXPECT_EQ(ids(load()->encode("A B a")), (std::vector<std::uint32_t>{1, 0, 4, 3, 2}));
  folder_.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true})");
  EXPECT_EQ(ids(load()->encode("A B a")), (std::vector<std::uint32_t>{1, 3, 0, 3, 2}));
}

// A file of four tokens whose metadata a test can leave out or spoil.
class TokenizerOfGguf : public testing::Test {
 protected:
  static Bytes texts(const std::vector<std::string_view>& values) {
    Bytes bytes;
    bytes.add<std::uint32_t>(static_cast<std::uint32_t>(GgufType::kString)).add<std::uint64_t>(values.size());
    for (const std::string_view value : values) bytes.add_text(GgufBytes::text(value).str());
    return bytes;
  }
  static Bytes numbers(const std::vector<float>& values) {
    Bytes bytes;
    bytes.add<std::uint32_t>(static_cast<std::uint32_t>(GgufType::kF32)).add<std::uint64_t>(values.size());
    for (const float value : values) bytes.add<float>(value);
    return bytes;
  }
  static GgufBytes tokens(std::string_view model, const std::vector<std::string_view>& values) {
    GgufBytes file;
    file.add_string("general.architecture", "llama");
    file.add_string("tokenizer.ggml.model", model);
    file.add("tokenizer.ggml.tokens", GgufType::kArray, texts(values));
    return file;
  }
  [[nodiscard]] std::optional<Tokenizer> load(const GgufBytes& file) const {
    return Tokenizer::load(Checkpoint::open(folder_.write("m.gguf", file.str())));
  }

  const TemporaryFolder folder_;
};

TEST_F(TokenizerOfGguf, IsNothingWithoutTokens) {
  GgufBytes file;
  file.add_string("general.architecture", "llama");
  EXPECT_FALSE(load(file).has_value());
}

TEST_F(TokenizerOfGguf, JoinsByScore) {
  GgufBytes file = tokens("llama", {"<s>", "a", "b", "aa", "ab"});
  file.add("tokenizer.ggml.scores", GgufType::kArray, numbers({0, -5, -6, -2, -1}));
  file.add_u32("tokenizer.ggml.bos_token_id", 0);
  file.add("tokenizer.ggml.add_space_prefix", GgufType::kBool, Bytes().add<std::uint8_t>(0));
  EXPECT_EQ(load(file)->encode("aab"), (std::vector<Token>{{0, 0, 0}, {1, 0, 1}, {4, 1, 3}}));
  EXPECT_ERROR(load(file)->encode("c"), ErrorKind::kInvalidArgument, "'c' has no token");
}

TEST_F(TokenizerOfGguf, RefusesWhatItCannotFollow) {
  EXPECT_ERROR(load(tokens("rwkv", {"a"})), ErrorKind::kUnsupported, "tokenizer.ggml.model 'rwkv' is not supported");
  GgufBytes strange = tokens("gpt2", {"a"});
  strange.add_string("tokenizer.ggml.pre", "strange\n");
  EXPECT_ERROR(load(strange), ErrorKind::kUnsupported, "tokenizer.ggml.pre: unknown pre-tokenizer 'strange\\x0a'");
}

TEST_F(TokenizerOfGguf, RefusesBrokenMetadata) {
  EXPECT_ERROR(load(tokens("gpt2", {"a"})), ErrorKind::kFormat, "tokenizer.ggml.merges is missing");
  EXPECT_ERROR(load(tokens("llama", {"a"})), ErrorKind::kFormat, "tokenizer.ggml.scores is missing");
  GgufBytes few = tokens("llama", {"a", "b"});
  few.add("tokenizer.ggml.scores", GgufType::kArray, numbers({1}));
  EXPECT_ERROR(load(few), ErrorKind::kFormat, "tokenizer.ggml.scores has 1 elements, expected 2");
  GgufBytes infinite = tokens("llama", {"a"});
  infinite.add("tokenizer.ggml.scores", GgufType::kArray, numbers({HUGE_VALF}));
  EXPECT_ERROR(load(infinite), ErrorKind::kFormat, "not a finite number");
  GgufBytes bos = tokens("llama", {"a"});
  bos.add("tokenizer.ggml.scores", GgufType::kArray, numbers({1}));
  EXPECT_ERROR(load(bos), ErrorKind::kFormat,
               "tokenizer.ggml.bos_token_id is missing, but the tokenizer adds this token to every text");
  bos.add_u32("tokenizer.ggml.bos_token_id", 1);
  EXPECT_ERROR(load(bos), ErrorKind::kFormat, "tokenizer.ggml.bos_token_id is not the id of one of 1 tokens");
  GgufBytes model = tokens("gpt2", {"a"});
  model.add("tokenizer.ggml.merges", GgufType::kArray, texts({"a b"}));
  EXPECT_ERROR(load(model), ErrorKind::kFormat, "merge 0 needs token 'b', which the vocabulary does not have");
}

}  // namespace
}  // namespace headscope
