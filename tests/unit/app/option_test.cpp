#include "headscope/app/option.h"

#include <gtest/gtest.h>

#include "headscope/app/relate.h"
#include "headscope/app/request_parts.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

enum class Color { kRed, kBlue };

struct Example {
  std::size_t count = 3;
  double share = 0.5;
  std::optional<std::size_t> limit = {};
  bool fast = false;
  bool safe = true;
  Color color = Color::kRed;
  std::vector<Color> colors = {Color::kBlue};
  std::vector<std::string> texts = {};
  std::filesystem::path file = {};
};

void describe(Example& example, OptionList& options) {
  const auto colors = named_values<Color>({{Color::kRed, "red"}, {Color::kBlue, "blue"}});
  options.add("file", example.file, "A file").positional().required();
  options.add("count", example.count, "How many").between(1, 10);
  options.add("share", example.share, "How much");
  options.add("limit", example.limit, "At most").circumstantial();
  options.add("fast", example.fast, "Hurry");
  options.add("safe", example.safe, "Do not check");
  options.add("color", example.color, colors, "One color");
  options.add("all-colors", example.colors, colors, "Several");
  options.add("text", example.texts, "Texts").repeated();
}

TEST(Options, TakeWordsOfACommandLine) {
  Example example;
  OptionList options = options_of(example);
  options.find("count")->set_words({"7"});
  options.find("share")->set_words({"0.25"});
  options.find("limit")->set_words({"4"});
  options.find("color")->set_words({"blue"});
  options.find("all-colors")->set_words({"red,blue,red"});
  options.find("text")->set_words({"one, two", "three"});
  EXPECT_EQ(example.count, 7U);
  EXPECT_EQ(example.share, 0.25);
  EXPECT_EQ(example.limit, 4U);
  EXPECT_EQ(example.color, Color::kBlue);
  EXPECT_EQ(example.colors, (std::vector{Color::kRed, Color::kBlue}));
  EXPECT_EQ(example.texts, (std::vector<std::string>{"one, two", "three"}));
}

TEST(Options, TakeTypedValues) {
  Example example;
  OptionList options = options_of(example);
  options.find("count")->set_value(std::int64_t{2});
  options.find("share")->set_value(std::int64_t{1});
  options.find("fast")->set_value(true);
  options.find("all_colors")->set_value(std::string("red"));
  EXPECT_EQ(example.count, 2U);
  EXPECT_EQ(example.share, 1);
  EXPECT_TRUE(example.fast);
  EXPECT_EQ(example.colors, std::vector{Color::kRed});
  options.find("limit")->set_value(std::int64_t{5});
  options.find("limit")->set_value({});
  EXPECT_FALSE(example.limit);
}

TEST(Options, RejectWhatDoesNotFit) {
  Example example;
  OptionList options = options_of(example);
  const auto count = [&](const std::vector<std::string>& words) { options.find("count")->set_words(words); };
  EXPECT_ERROR(count({"0"}), ErrorKind::kInvalidArgument, "--count: expected an integer from 1 to 10, found '0'");
  EXPECT_ERROR(count({"many"}), ErrorKind::kInvalidArgument, "--count: expected an integer from 1 to 10, found 'many'");
  EXPECT_ERROR(options.find("limit")->set_words({"-5"}), ErrorKind::kInvalidArgument,
               "--limit: expected a non-negative integer, found '-5'");
  EXPECT_ERROR(options.find("count")->set_value(std::string("3")), ErrorKind::kInvalidArgument, "--count: expected");
  EXPECT_ERROR(options.find("fast")->set_value(std::int64_t{1}), ErrorKind::kInvalidArgument,
               "--fast: expected true or false, found '1'");
  EXPECT_ERROR(options.find("color")->set_words({"green"}), ErrorKind::kInvalidArgument,
               "--color: unknown value 'green'; expected one of red, blue");
  EXPECT_ERROR(options.find("all-colors")->set_words({"red", "gre\nen"}), ErrorKind::kInvalidArgument,
               "--all-colors: unknown value 'gre\\x0aen'");
  EXPECT_ERROR(options.find("count")->set_value({}), ErrorKind::kInvalidArgument, "--count: expected a value");
  EXPECT_EQ(example.count, 3U);
}

TEST(Options, AreSpelledForBothFrontEnds) {
  Example example;
  OptionList options = options_of(example);
  EXPECT_EQ(options.find("file")->spelling(), "file");
  EXPECT_EQ(options.find("fast")->spelling(), "--fast");
  EXPECT_EQ(options.find("safe")->spelling(), "--no-safe");
  EXPECT_EQ(options.find("all-colors")->parameter(), "all_colors");
  EXPECT_EQ(options.find("nothing"), nullptr);
}

TEST(Options, GiveTheIdentityAndTheWordsOfARequest) {
  Example example;
  example.file = "model";
  example.safe = false;
  example.texts = {"a, b", "c"};
  example.limit = 9;
  const OptionList options = options_of(example);
  EXPECT_EQ(options.words(),
            (std::vector<std::string>{"model", "--limit", "9", "--no-safe", "--text", "a, b", "--text", "c"}));
  const auto identity = options.identity();
  EXPECT_EQ(identity.at("safe"), "false");
  EXPECT_EQ(identity.at("all_colors"), "blue");
  EXPECT_EQ(identity.at("text"), "a, b,c");
  EXPECT_FALSE(identity.contains("limit"));
}

TEST(Options, MayExcludeEachOther) {
  Example example;
  OptionList options = options_of(example);
  options.find("share")->excludes("count");
  options.check_exclusions();
  example.count = 2;
  options.check_exclusions();  // the other one has its default
  example.share = 0.1;
  EXPECT_ERROR(options.check_exclusions(), ErrorKind::kInvalidArgument,
               "--share: must not be given together with --count");
}

TEST(Options, SuggestWhatMayBeMeant) {
  RelateRequest request;
  OptionList options = options_of(request);
  EXPECT_ERROR(options.find("metric")->set_words({"pk,grasmann"}), ErrorKind::kInvalidArgument,
               "--metric: unknown value 'grasmann' (did you mean 'grassmann'?); expected one of pk, ");
  EXPECT_ERROR(options.find("pairs")->set_words({"oq"}), ErrorKind::kInvalidArgument,
               "or all, found 'oq' (did you mean 'OQ'?)");
}

TEST(Options, MayExcludeTheirSmallestValue) {
  RelateRequest request;
  OptionList options = options_of(request);
  EXPECT_ERROR(options.find("max-q")->set_words({"0"}), ErrorKind::kInvalidArgument,
               "--max-q: expected a number greater than 0 and at most 1, found '0'");
  options.find("max-q")->set_words({"1e-300"});
  EXPECT_EQ(request.max_q, 1e-300);
}

TEST(Options, MayNameAFolderOfResults) {
  RelateRequest request;
  OptionList options = options_of(request);
  for (const char* text : {"-", "/dev/stdout", ""}) {
    EXPECT_ERROR(options.find("run")->set_words({text}), ErrorKind::kInvalidArgument, "--output: ");
  }
  options.find("run")->set_words({"a/b"});
  EXPECT_EQ(request.output.run, "a/b");
}

TEST(Options, SayWhatTheirTextsAre) {
  RelateRequest request;
  OptionList options = options_of(request);
  EXPECT_TRUE(options.find("labels")->holds_paths());
  EXPECT_FALSE(options.find("revision")->holds_paths());
  for (const char* name : {"layers", "heads", "memory"}) EXPECT_TRUE(options.find(name)->takes_integers()) << name;
  for (const char* name : {"pairs", "metric", "family"}) EXPECT_FALSE(options.find(name)->takes_integers()) << name;
}

TEST(RequestParts, ReadSizesAndRanges) {
  const auto size = [](const std::string& text) { return size_form().parse(text); };
  EXPECT_EQ(size("8G")->front(), std::size_t{8} << 30);
  EXPECT_EQ(size("65536")->front(), 65536U);
  for (const char* same : {"8g", "8GiB", "8gib", "8192M", "8589934592", "8589934592B"}) {
    ASSERT_TRUE(size(same)) << same;
    EXPECT_EQ(size(same)->front(), std::size_t{8} << 30) << same;
  }
  EXPECT_EQ(size("8GB")->front(), 8'000'000'000U);
  EXPECT_EQ(size("1.5K")->front(), 1536U);
  for (const char* text : {"", "G", "-1", "0", "8 G", "8GG", "8iB", "0x8", "nan", "inf", "1e9", "99999999999T"}) {
    EXPECT_FALSE(size(text)) << text;
  }
  EXPECT_EQ(size_form().format(std::size_t{2} << 30), "2G");
  EXPECT_EQ(size_form().format(1000), "1000");
  EXPECT_EQ(range_form().parse("10-50")->front(), (IndexRange{10, 51}));
  EXPECT_EQ(range_form().parse("7")->front(), (IndexRange{7, 8}));
  EXPECT_EQ(range_form().format(IndexRange{10, 51}), "10-50");
  for (const char* text : {"", "-", "5-3", "a", "1-2-3", "18446744073709551615"}) {
    EXPECT_FALSE(range_form().parse(text)) << text;
  }
}

TEST(RequestParts, SelectHeads) {
  RelateRequest request;
  OptionList options = options_of(request);
  options.find("layers")->set_words({"0,2-3"});
  options.find("heads")->set_words({"1,L2H0"});
  const HeadSizes sizes{.layers = 4, .heads = 2, .kv_heads = 2, .d_model = 8, .d_head = 4};
  EXPECT_EQ(selected_heads(request.selection, sizes), (std::vector<HeadId>{{0, 1}, {2, 0}, {2, 1}, {3, 1}}));
  EXPECT_TRUE(selected_heads({}, sizes).empty());
  EXPECT_ERROR(selected_heads({.layers = {4}}, sizes), ErrorKind::kInvalidArgument, "--layers: there is no layer 4");
  EXPECT_ERROR(selected_heads({.heads = {{std::nullopt, 2}}}, sizes), ErrorKind::kInvalidArgument,
               "--heads: there is no head 2");
  EXPECT_ERROR(selected_heads({.layers = {0}, .heads = {{2, 0}}}, sizes), ErrorKind::kInvalidArgument,
               "there is no query head L2H0 in the selected layers");
  EXPECT_ERROR(options.find("heads")->set_words({"0-999999999"}), ErrorKind::kInvalidArgument, "--heads: expected");
}

}  // namespace
}  // namespace headscope
