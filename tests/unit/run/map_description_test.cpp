#include "headscope/run/map_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"

namespace headscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MapDescription parse(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "tokens.json");
  return parse_map_description(document.root(), "tokens.json");
}

TEST(MapDescription, HasEveryEntry) {
  const MapDescription maps = parse(
      R"({"kind": "text", "mask": "causal", "windows": [0, 4], "source": "a.txt", "heads": ["L0H0", "L1H3"],
          "first_query": 2, "queries": 1, "own": {},
          "tokens": [{"text": "a", "id": 3, "begin": 0, "end": 1}, {"text": ""}, {"text": "c"}]})");
  EXPECT_EQ(maps.kind, "text");
  EXPECT_EQ(maps.source, "a.txt");
  EXPECT_TRUE(maps.causal);
  EXPECT_THAT(maps.windows, ElementsAre(0, 4));
  EXPECT_THAT(maps.heads, ElementsAre("L0H0", "L1H3"));
  EXPECT_EQ(maps.first_query, 2u);
  EXPECT_EQ(maps.queries, 1u);
  EXPECT_THAT(maps.tokens, ElementsAre("a", "", "c"));
}

TEST(MapDescription, TellsWindowsOfPatches) {
  const MapDescription maps = parse(R"({"kind": "image", "patch_windows": [0, [7, 3]],
      "tokens": [{"text": "patch 0,0", "row": 0, "column": 0}, {"text": "patch 0,1", "row": 0, "column": 1}]})");
  EXPECT_THAT(maps.patch_windows, ElementsAre(PatchWindows{}, PatchWindows{7, 3}));
  EXPECT_THAT(maps.places, ElementsAre(std::pair(0U, 0U), std::pair(0U, 1U)));
  EXPECT_THAT(parse(R"({"tokens": [{"text": "class"}, {"text": "patch", "row": 0, "column": 0}]})").places, IsEmpty());
}

TEST(MapDescription, MayBeEmpty) {
  const MapDescription maps = parse("{}");
  EXPECT_FALSE(maps.causal);
  EXPECT_EQ(maps.first_query, std::nullopt);
  EXPECT_THAT(maps.heads, IsEmpty());
  EXPECT_FALSE(parse(R"({"mask": "none"})").causal);
}

TEST(MapDescription, SaysWhichEntryIsMalformed) {
  const auto fails = [](const std::string& text, const std::string& message) {
    EXPECT_ERROR(parse(text), ErrorKind::kFormat, "tokens.json: " + message);
  };
  fails("[]", "does not describe maps: expected an object");
  fails("3", "does not describe maps");
  fails(R"({"mask": "upper"})", "'mask' is neither \"causal\" nor \"none\"");
  fails(R"({"mask": true})", "'mask' is neither");
  fails(R"({"kind": 3})", "'kind' is not a text");
  fails(R"({"source": []})", "'source' is not a text");
  fails(R"({"windows": 4})", "'windows' is not a list");
  fails(R"({"windows": [-4]})", "'windows' are not numbers of tokens");
  fails(R"({"patch_windows": [7]})", "'patch_windows' are neither 0 nor [side, shift]");
  fails(R"({"patch_windows": [[0, 0]]})", "'patch_windows' are neither");
  fails(R"({"patch_windows": [[4, 4]]})", "'patch_windows' are neither 0 nor [side, shift] with a shift below");
  fails(R"({"first_query": "0"})", "'first_query' is not a number of tokens");
  fails(R"({"queries": 1.5})", "'queries' is not a number of tokens");
  fails(R"({"heads": "L0H0"})", "'heads' is not a list");
  fails(R"({"heads": [3]})", "'heads' are not names such as L4H7");
  fails(R"({"heads": [""]})", "'heads' are not names");
  fails(R"({"tokens": {"0": "a"}})", "'tokens' is not a list");
  fails(R"({"tokens": ["a"]})", "expected a 'text' in every one of 'tokens'");
  fails(R"({"tokens": [{"text": "a"}, {"id": 3}]})", "expected a 'text'");
}

// softmax writes paraproduct/<head>.npz.
TEST(MapDescription, NamesOfHeadsCanBeNamesOfFiles) {
  EXPECT_ERROR(parse(R"({"heads": ["../../x"]})"), ErrorKind::kFormat, "'heads' are not names such as L4H7");
  EXPECT_THAT(parse(R"({"heads": ["a\nb"]})").heads, ElementsAre("a\\x0ab"));
}

}  // namespace
}  // namespace headscope
