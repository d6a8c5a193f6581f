#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "headscope/tokenize/tokenizer.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

constexpr std::string_view kModel = R"("model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}})";

// A tokenizer.json with these members beside a model that is fine.
std::string with(std::string_view members) {
  return "{" + std::string(members) + ", " + std::string(kModel) + "}";
}

std::string with_model(std::string_view model) {
  return R"({"model": )" + std::string(model) + "}";
}

std::string with_regex(std::string_view regex) {
  return with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")" + std::string(regex) +
              R"("}, "behavior": "Isolated", "invert": false})");
}

std::string with_bpe(std::string_view members) {
  return with_model(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, )" + std::string(members) + "}");
}

struct Broken {
  std::string json;
  ErrorKind kind;
  std::string_view message;
};

void expect_all(const std::vector<Broken>& table) {
  for (const Broken& row : table) EXPECT_ERROR(Tokenizer::from_json(row.json, "t.json"), row.kind, row.message);
}

constexpr ErrorKind kFormat = ErrorKind::kFormat;
constexpr ErrorKind kUnsupported = ErrorKind::kUnsupported;

// 90 kB that would become 100 million tokens per text.
TEST(BrokenTokenizer, ALongTemplateIsRefused) {
  std::string ids = "1";
  for (int i = 0; i < 10000; ++i) ids += ",1";
  std::string items = R"({"Sequence": {"id": "A"}})";
  for (int i = 0; i < 2000; ++i) items += R"(,{"SpecialToken":{"id":"x"}})";
  expect_all({{with(R"("post_processor": {"type": "TemplateProcessing", "single": [)" + items +
                    R"(], "special_tokens": {"x": {"ids": [)" + ids + "]}}}"),
               kUnsupported, "a template of more than 4096 tokens is not supported"}});
}

TEST(BrokenTokenizer, NormalizersAreRefused) {
  expect_all({
      {with(R"("normalizer": 1)"), kFormat, "t.json: normalizer has no type"},
      {with(R"("normalizer": {"type": "Odd\n"})"), kUnsupported,
       "t.json: normalizer: normalizer 'Odd\\x0a' is not supported"},
      {with(R"("normalizer": {"type": "Sequence"})"), kFormat, "t.json: normalizer.normalizers is not a list"},
      {with(R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, null]})"), kFormat,
       "t.json: normalizer.normalizers[1] is null"},
      {with(R"("normalizer": {"type": "Strip", "strip_left": true})"), kFormat, "has no 'strip_right'"},
      {with(R"("normalizer": {"type": "Prepend", "prepend": 1})"), kFormat, "has no string 'prepend'"},
      {with(R"("normalizer": {"type": "Replace", "content": ""})"), kFormat,
       "pattern is neither a 'String' nor a 'Regex'"},
      {with(R"("normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": ""})"), kUnsupported,
       "an empty string"},
      {with(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "a*"}, "content": ""})"), kUnsupported,
       "replacing a pattern that matches empty text"},
      {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "A"})"), kFormat,
       "is 1 characters of base64"},
      {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "A(=="})"), kFormat, "is not base64"},
      {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA="})"), kFormat, "has 2 bytes"},
      {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAEC"})"), kFormat,
       "declares a trie of 8 bytes, but 2 bytes follow"},
      {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAD/"})"), kFormat,
       "holds replacements that are not UTF-8"},
  });
}

TEST(BrokenTokenizer, PreTokenizersAreRefused) {
  expect_all({
      {with(R"("pre_tokenizer": {"type": "UnicodeScripts"})"), kUnsupported,
       "pre-tokenizer 'UnicodeScripts' is not supported"},
      {with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": {}})"), kFormat, "pretokenizers is not a list"},
      {with(R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true})"), kFormat, "has no 'trim_offsets'"},
      {with(R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd", "invert": false})"),
       kFormat, "has behavior 'Odd', expected Removed"},
      {with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "ab"})"), kFormat,
       "replacement that is not one character"},
      {with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})"), kFormat,
       "has prepend_scheme 'last'"},
      {with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_", "add_prefix_space": false})"), kFormat,
       "which contradict each other"},
      {with(R"("pre_tokenizer": {"type": "Digits"})"), kFormat, "has no 'individual_digits'"},
  });
}

TEST(BrokenTokenizer, RegularExpressionsThatMeanSomethingElseInOtherEnginesAreRefused) {
  expect_all({
      {with_regex("(a"), kFormat, "a group is not closed"},
      {with_regex("a)"), kFormat, "unmatched closing parenthesis"},
      {with_regex("*a"), kFormat, "there is nothing to repeat"},
      {with_regex("[a"), kFormat, "a class is not closed"},
      {with_regex("[b-a]"), kFormat, "a range is backward"},
      {with_regex("a\\\\"), kFormat, "it ends with a backslash"},
      {with_regex("(?<=a+)b"), kFormat, "does not compile"},
      {with_regex("[a[b]]"), kUnsupported, "a class in a class"},
      {with_regex("[a&&b]"), kUnsupported, "an intersection of classes"},
      {with_regex("(?<name>a)"), kUnsupported, "a group of an unknown kind"},
      {with_regex("(?m:a)"), kUnsupported, "a group of an unknown kind"},
      {with_regex("\\\\h"), kUnsupported, "'\\h'"},
      {with_regex("(a)\\\\1"), kUnsupported, "'\\1'"},
      {with_regex("\\\\p{Odd}"), kUnsupported, "the property 'Odd'"},
      {with_regex("a{2}?"), kUnsupported, "'{n}?'"},
      {with_regex("(?i:ss)"), kUnsupported, "letters that case folding combines"},
  });
}

TEST(BrokenTokenizer, ModelsAreRefused) {
  expect_all({
      {"[]", kFormat, "t.json: is not a JSON object"},
      {"{}", kFormat, "t.json: model is not an object"},
      {R"({"version": "2.0"})", kUnsupported, "t.json: version"},
      {with_model(R"({"type": "Odd"})"), kUnsupported, "model 'Odd' is not supported"},
      {with_model(R"({"type": "WordLevel", "unk_token": "a"})"), kFormat, "model.vocab is not an object"},
      {with_model(R"({"type": "WordLevel", "unk_token": "a", "vocab": {"a": -1}})"), kFormat, "token 'a' whose id"},
      {with_model(R"({"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 0}})"), kFormat,
       "duplicate id 0 for tokens"},
      {with_model(R"({"type": "WordLevel", "unk_token": "a", "vocab": {"a": 10000000}})"), kFormat,
       "token id 10000000"},
      {with_model(R"({"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "#", "vocab": {}})"), kFormat,
       "max_input_chars_per_word"},
      {with_model(R"({"type": "Unigram", "vocab": [["a", 0], ["b"]]})"), kFormat, "model.vocab[1] is not a pair"},
      {with_model(R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})"), kFormat,
       "has unk_id 1, expected one of 1"},
      {with_bpe(R"("merges": 1)"), kFormat, "model.merges is not a list"},
      {with_bpe(R"("merges": ["a b", "a"])"), kFormat, "merge 1 is 'a', expected two tokens"},
      {with_bpe(R"("merges": [["a"]])"), kFormat, "model.merges[0] is not a pair of tokens"},
      {with_bpe(R"("merges": ["b a"])"), kFormat, "needs token 'ba', which the vocabulary does not have"},
      {with_bpe(R"("merges": ["a b"], "continuing_subword_prefix": "##")"), kFormat, "lacks the prefix"},
      {with_bpe(R"("merges": [], "dropout": 0.1)"), kUnsupported, "dropout"},
  });
}

std::string with_added(std::string_view rest) {
  return with(R"("added_tokens": [{"single_word": false, "lstrip": false, "rstrip": false, )" + std::string(rest) +
              "}]");
}

TEST(BrokenTokenizer, AddedTokensAreRefused) {
  expect_all({
      {with(R"("added_tokens": {})"), kFormat, "t.json.added_tokens is not a list"},
      {with_added(R"("normalized": false, "id": 1)"), kFormat, "added_tokens[0] has no string 'content'"},
      {with_added(R"("id": 1, "content": "b")"), kFormat, "has no 'normalized'"},
      {with_added(R"("normalized": false, "id": 5, "content": "b")"), kUnsupported,
       "id 5 for token 'b', whose id in the vocabulary is 1, is not supported"},
      {with(
           R"("normalizer": {"type": "Strip", "strip_left": true, "strip_right": true}, "added_tokens": [
                {"single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "id": 1, "content": " "}])"),
       kFormat, "added token ' ' is empty after normalization"},
  });
}

TEST(BrokenTokenizer, PostProcessorsAreRefused) {
  expect_all({
      {with(R"("post_processor": {"type": "Odd"})"), kUnsupported, "post-processor 'Odd' is not supported"},
      {with(R"("post_processor": {"type": "BertProcessing", "sep": ["a"], "cls": ["a", 0]})"), kFormat,
       "is not a pair of a token and its id"},
      {with(R"("post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]})"), kFormat,
       "single[0] is neither a special token nor the sequence A"},
      {with(R"("post_processor": {"type": "TemplateProcessing", "single": []})"), kUnsupported,
       "does not contain the text exactly once"},
      {with(R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]})"), kFormat,
       "post_processor.special_tokens.x.ids is not a list"},
  });
}

}  // namespace
}  // namespace headscope
