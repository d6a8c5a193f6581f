#include "headscope/capture/tokens_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headscope/run/map_description.h"

namespace headscope {
namespace {

using testing::ElementsAre;

MapDescription read_back(const DescribedInput& input, const MapsDescription& maps) {
  const std::string text = tokens_json(input, maps);
  const JsonDocument document = JsonDocument::parse(text, "tokens.json");
  return parse_map_description(document.root(), "tokens.json");
}

TEST(TokensJson, IsReadBack) {
  const std::vector<HeadId> heads = {{0, 3}, {2, 1}};
  DescribedInput input;
  input.source = "a \"quoted\"\nname";
  input.name = "cat.png (2)";
  input.file = "cat.png";
  input.tokens.resize(3);
  input.tokens[0].text = "a";
  input.tokens[1].text = "\xff";
  input.tokens[2].text = "</script>";
  const MapDescription text =
      read_back(input, {.heads = heads, .first_query = 1, .queries = 2, .causal = true, .windows = {0, 4, 0}});
  EXPECT_EQ(text.kind, "text");
  EXPECT_EQ(text.source, input.source);
  EXPECT_EQ(text.name, input.name);
  EXPECT_EQ(text.file, input.file);
  EXPECT_TRUE(text.causal);
  EXPECT_THAT(text.windows, ElementsAre(0, 4, 0));
  EXPECT_THAT(text.heads, ElementsAre("L0H3", "L2H1"));
  EXPECT_EQ(text.first_query, 1u);
  EXPECT_EQ(text.queries, 2u);
  EXPECT_THAT(text.tokens, ElementsAre("a", "\xef\xbf\xbd", "</script>"));

  input.input.pixels = {.channels = 1, .height = 1, .width = 1, .values = {0.5F}};
  const MapDescription image = read_back(input, {.heads = heads, .queries = 3, .causal = false, .windows = {0, 0}});
  EXPECT_EQ(image.kind, "image");
  EXPECT_FALSE(image.causal);
  EXPECT_THAT(image.windows, testing::IsEmpty());
}

}  // namespace
}  // namespace headscope
