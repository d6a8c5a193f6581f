#include "headscope/io/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

JsonDocument parse(std::string_view text) {
  return JsonDocument::parse(text, "test.json");
}

TEST(Json, AnswersEveryKindOfValueAndNothingForTheWrongKind) {
  const JsonDocument document =
      parse(R"({"b": true, "i": 12, "n": -3, "x": 0.5, "w": 768.0, "s": "h\u00e9", "z": null})");
  const JsonValue root = document.root();
  EXPECT_EQ(root.find("b").as_bool(), true);
  EXPECT_EQ(root.find("i").as_unsigned(), 12u);
  EXPECT_EQ(root.find("n").as_unsigned(), std::nullopt);
  EXPECT_EQ(root.find("n").as_number(), -3.0);
  EXPECT_EQ(root.find("x").as_number(), 0.5);
  EXPECT_EQ(root.find("x").as_unsigned(), std::nullopt);
  EXPECT_EQ(root.find("w").as_unsigned(), 768u);
  EXPECT_EQ(root.find("s").as_string(), "h\xC3\xA9");
  EXPECT_EQ(root.find("s").as_unsigned(), std::nullopt);
  EXPECT_EQ(root.find("s").as_bool(), std::nullopt);
  EXPECT_TRUE(root.find("z").is_null());
  EXPECT_TRUE(root.find("absent").is_null());
  EXPECT_TRUE(root.find("i").find("deeper").is_null());
}

TEST(Json, WalksThroughNestedContainersInOrder) {
  const JsonDocument document = parse(R"({"a": [1, [2, 3], {"x": 4}, 5], "b": {}, "c": []})");
  std::vector<std::string> keys;
  for (const auto [key, value] : document.root().members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b", "c"}));

  std::vector<JsonValue::Kind> kinds;
  for (const JsonValue item : document.root().find("a").items()) kinds.push_back(item.kind());
  using Kind = JsonValue::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kInteger, Kind::kArray, Kind::kObject, Kind::kInteger}));
  EXPECT_EQ(document.root().size(), 3u);
  EXPECT_EQ(document.root().find("b").size(), 0u);
  EXPECT_EQ(document.root().find("c").size(), 0u);
}

TEST(Json, TakesTheLastOfTwoEqualKeys) {
  EXPECT_EQ(parse(R"({"a": 1, "a": 2})").root().find("a").as_unsigned(), 2u);
}

TEST(Json, KeepsIntegersExactUpTo63Bits) {
  EXPECT_EQ(parse("9223372036854775807").root().as_unsigned(), 9223372036854775807u);
  EXPECT_EQ(parse("18446744073709551615").root().as_unsigned(), std::nullopt);
}

TEST(Json, IsNullByDefaultAndIterable) {
  const JsonValue nothing;
  EXPECT_TRUE(nothing.is_null());
  EXPECT_EQ(nothing.size(), 0u);
  for ([[maybe_unused]] const JsonValue item : nothing.items()) FAIL();
  for ([[maybe_unused]] const auto member : nothing.members()) FAIL();
}

TEST(Json, RefusesBrokenTextNamingTheFile) {
  for (const std::string text :
       {"", "{", "[1,]", "{\"a\"}", "nul", "\"\\ud800\"", "\"\xFF\"", "1 2", "{'a': 1}", "NaN", "1e999"}) {
    EXPECT_ERROR(parse(text), ErrorKind::kFormat, "test.json: ");
  }
}

TEST(Json, TakesPythonsWordsForNullIfAsked) {
  const auto python = [](std::string_view text) {
    return JsonDocument::parse(text, "test.json", JsonDialect::kPython);
  };
  const JsonDocument document =
      python(R"({"limits": [0.0, Infinity, -Infinity,NaN], "a \"NaN\\": "\"Infinity\\", "n": -1})");
  std::vector<JsonValue> limits;
  for (const JsonValue item : document.root().find("limits").items()) limits.push_back(item);
  ASSERT_EQ(limits.size(), 4u);
  EXPECT_EQ(limits[0].as_number(), 0.0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(limits[i].is_null());
  EXPECT_EQ(document.root().find("a \"NaN\\").as_string(), "\"Infinity\\");
  EXPECT_EQ(document.root().find("n").as_number(), -1.0);
  EXPECT_TRUE(python("NaN").root().is_null());
  for (const std::string text : {"Infinity2", "-NaN", "+Infinity", "xNaN", "NaN NaN", "{NaN: 1}", "[-]", "\"NaN",
                                 "1NaN", "--Infinity", "nan", "NaNInfinity", "\"\\"}) {
    EXPECT_ERROR(python(text), ErrorKind::kFormat, "test.json: ");
  }
  for (const std::string text : {"[Infinity]", "[-Infinity]", "[NaN]"}) {
    EXPECT_ERROR(parse(text), ErrorKind::kFormat, "test.json: ");
  }
}

TEST(Json, DoesNotTakeANulByteForTheEnd) {
  EXPECT_ERROR(parse(std::string_view("{}\0garbage", 10)), ErrorKind::kFormat, "holds a NUL byte");
}

TEST(Json, AcceptsTheDeepestNestingAndRefusesOneMore) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse(nested(JsonDocument::kMaxDepth)));
  EXPECT_ERROR(parse(nested(JsonDocument::kMaxDepth + 1)), ErrorKind::kFormat, "nested more than 64 deep");
  EXPECT_ERROR(parse(std::string(1'000'000, '[')), ErrorKind::kFormat, "nested more than 64 deep");
}

TEST(Json, SaysWhichFileCannotBeRead) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(JsonDocument::open(folder.path() / "absent.json"), ErrorKind::kIo, "absent.json: cannot open");
}

}  // namespace
}  // namespace headscope
