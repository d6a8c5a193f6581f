// Pages of models with an encoder and a decoder: maps in three blocks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "headscope/report/page.h"
#include "support/expect_error.h"
#include "support/page_contents.h"
#include "support/run_files.h"

namespace headscope {
namespace {

using test::open_page;
using test::PageContents;
using test::ramp;
using test::RunFiles;
using test::value_at;
using ::testing::HasSubstr;

// Two inputs of a model with an encoder and a decoder, one head per block: three tokens of the source, two of the
// target.
struct BlockFiles : RunFiles {
  BlockFiles() {
    for (const std::string input : {"", "inputs/1/"}) {
      add("encoder/" + input, {1, 3, 3}, R"("mask":"none","heads":["encoder.L0H0"])", "");
      add("decoder/" + input, {1, 2, 2}, R"("mask":"causal","heads":["decoder.L0H0"])", "target");
      add("cross/" + input, {1, 2, 3}, R"("mask":"none","heads":["cross.L0H0"],"query_tokens":)" + kTarget, "");
    }
  }
  inline static const std::string kSource = R"([{"text":"a"},{"text":"b"},{"text":"c"}])";
  inline static const std::string kTarget = R"([{"text":"<s>"},{"text":"x"}])";

 private:
  void add(const std::string& folder, const Shape& shape, const std::string& about, const std::string& tokens) {
    array(folder + "pattern.npy", ramp(shape[1] * shape[2]), shape);
    text(folder + "tokens.json", "{" + about + R"(,"tokens":)" + (tokens == "target" ? kTarget : kSource) + "}");
  }
};

TEST(PageBlocks, HoldsTheMapsOfEveryBlock) {
  BlockFiles run;
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& inputs = page.main["inputs"];
  ASSERT_EQ(inputs.size(), 6u);
  EXPECT_EQ(inputs[0]["folder"], "encoder/");
  EXPECT_EQ(inputs[2]["folder"], "cross/");
  EXPECT_EQ(inputs[4]["folder"], "decoder/inputs/1/");
  EXPECT_EQ(inputs[2]["number"], 0);
  EXPECT_EQ(inputs[4]["number"], 1);
  EXPECT_EQ(inputs[4]["name"], "input 1");
  EXPECT_EQ(inputs[2]["pattern"]["maps"]["shape"], (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(inputs[2]["tokens"]["query_tokens"].size(), 2u);
  EXPECT_TRUE(std::isnan(value_at(page, inputs[1]["pattern"]["maps"], 1)));
  EXPECT_FALSE(std::isnan(value_at(page, inputs[2]["pattern"]["maps"], 1)));
}

TEST(PageBlocks, AveragesQueriesOfCrossAttentionByTheirOwnTokens) {
  BlockFiles run;
  PageOptions options;
  options.bytes = 24;  // 4 for each of the six files
  const Page built = build_page(run.finish(), options);
  const auto inputs = open_page(built.html).main["inputs"];
  EXPECT_EQ(inputs[2]["pattern"]["side"], 2);
  EXPECT_EQ(inputs[2]["pattern"]["starts"], (nlohmann::json{0, 1}));
  EXPECT_EQ(inputs[2]["pattern"]["key_starts"], (nlohmann::json{0, 1}));
}

TEST(PageBlocks, LeavesOutInputsWithAllTheirBlocks) {
  BlockFiles run;
  PageOptions options;
  options.bytes = 15;
  const Page built = build_page(run.finish(), options);
  EXPECT_EQ(open_page(built.html).main["inputs"].size(), 3u);
  EXPECT_THAT(built.notes, ::testing::Contains(HasSubstr("maps of 1 of 2 inputs are left out")));
}

TEST(PageBlocks, TakesOrdersOfTheBlockThatWasOrganized) {
  BlockFiles run;
  run.array<std::int64_t>("order/query.npy", {1, 0}, {2});
  run.array<std::int64_t>("order/key.npy", {2, 0, 1}, {3});
  run.command("organize", {{"block", "cross"}, {"queries", ""}, {"keys", ""}});
  const auto main = open_page(build_page(run.finish()).html).main;
  EXPECT_EQ(main["main_input"]["organize"], 2);
  EXPECT_EQ(main["inputs"][2]["pattern"]["rows"], (nlohmann::json{1, 0}));
  EXPECT_EQ(main["inputs"][2]["pattern"]["columns"], (nlohmann::json{2, 0, 1}));
  EXPECT_FALSE(main["inputs"][0]["pattern"].contains("rows"));
}

TEST(PageBlocks, RefusesMapsOfCrossAttentionThatDoNotFitTheirTokens) {
  BlockFiles run;
  run.array("cross/pattern.npy", ramp(9), {1, 3, 3});
  const auto folder = run.finish();
  EXPECT_ERROR((void)build_page(folder), ErrorKind::kFormat,
               "is [1, 3, 3], expected [1 heads, queries from token 0 of 2 on, 3 tokens] to match tokens.json");
}

}  // namespace
}  // namespace headscope
