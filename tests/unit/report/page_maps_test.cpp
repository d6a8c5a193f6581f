// Maps and images on the page: what is averaged, hidden or left out, and in which order tokens are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>

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

TEST(PageMaps, AveragesMapsThatAreTooLarge) {
  RunFiles run;
  std::vector<float> maps;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) maps.push_back(j > i ? 0.F : 1.F / static_cast<float>(i + 1));
  }
  run.array("pattern.npy", maps, {1, 4, 4});
  run.array<std::int64_t>("order/query.npy", {3, 2, 1, 0}, {4});
  run.array<std::int64_t>("order/key.npy", {0, 1, 2, 3}, {4});
  run.text("tokens.json",
           R"({"mask":"causal","heads":["L0H0"],"tokens":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]})");
  PageOptions options;
  options.bytes = 13;  // 3 x 3 blocks in the order of the input, 2 x 2 in that of the trees
  const Page built = build_page(run.finish(), options);
  const PageContents page = open_page(built.html);
  const auto& pattern = page.main["inputs"][0]["pattern"];
  EXPECT_EQ(pattern["side"], 2);
  EXPECT_EQ(pattern["starts"], (nlohmann::json{0, 1, 3}));  // the first token is alone
  EXPECT_EQ(pattern["key_starts"], pattern["starts"]);
  // What the mask hides is not counted, and a block of which nothing is visible has no value.
  EXPECT_NEAR(value_at(page, pattern["maps"], 0), 1, 1e-6);
  EXPECT_TRUE(std::isnan(value_at(page, pattern["maps"], 1)));
  EXPECT_NEAR(value_at(page, pattern["maps"], 4), (1.0 / 2 + 1.0 / 3 + 1.0 / 3) / 3, 1.0 / 254);
  EXPECT_NEAR(value_at(page, pattern["organized"], 2), (1 + 0.5 + 0.5) / 3, 1.0 / 254);
  EXPECT_THAT(built.notes, ::testing::Contains(HasSubstr("means over at most 2 x 2")));
  // Uniform over 1, 2, 3, 4 keys.
  EXPECT_NEAR(page.main["inputs"][0]["summary"]["entropy"][0].get<double>(), std::log(24.0) / 4, 1e-6);
}

// Five heads of four tokens, of which L0H1 is a significant hub, and the others are detected.
struct FiveHeads : RunFiles {
  FiveHeads() {
    array("pattern.npy", ramp(80), {5, 4, 4});
    text(
        "tokens.json",
        R"({"heads":["L0H0","L0H1","L0H2","L0H3","L0H4"],"tokens":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]})");
    text("hubs.csv",
         "rank,head,strength,in_degree,out_degree,in_strength,out_strength,pagerank,hub,authority,"
         "betweenness,reason,p_family,significant\n1,L0H0,9,0,0,0,0,0,0,0,0,,0.5,no\n"
         "2,L0H1,3,0,0,0,0,0,0,0,0,,0.01,yes\n");
    text(
        "detectors.csv",
        "head,layer,index,previous,identity,duplicate,induction,threshold,detected\nL0H2,0,2,0.5,0,0,0.9,0.4,previous\n"
        "L0H3,0,3,0,0.7,0,0,0.4,identity\n");
  }
};

TEST(PageMaps, KeepsTheMapsOfChosenHeadsAsTheyAre) {
  const FiveHeads run;
  run.finish();
  const auto full_of = [&](std::size_t bytes, std::vector<HeadId> keep) {
    PageOptions options;
    options.bytes = bytes;
    options.keep = std::move(keep);
    const PageContents page = open_page(build_page(run.path(), options).html);
    return page.main["inputs"][0]["pattern"].value("full", nlohmann::json());
  };
  EXPECT_TRUE(full_of(80, {}).is_null());  // all fit
  EXPECT_TRUE(full_of(63, {}).is_null());  // a quarter has no room for one
  EXPECT_EQ(full_of(70, {})["heads"], (nlohmann::json{1}));
  EXPECT_EQ(full_of(70, {{0, 4}})["heads"], (nlohmann::json{4}));
  EXPECT_EQ(full_of(70, {})["maps"]["shape"], (nlohmann::json{1, 4, 4}));
  const std::vector<HeadId> unknown = {{9, 0}};
  EXPECT_ERROR(full_of(80, unknown), ErrorKind::kInvalidArgument, "--keep: L9H0 is not among the heads");
}

TEST(PageMaps, SaysWhichChosenHeadsAreAveragedAfterAll) {
  const FiveHeads run;
  run.finish();
  const auto notes_of = [&](std::size_t bytes) {
    PageOptions options;
    options.bytes = bytes;
    options.keep = {{0, 4}, {0, 3}};
    return build_page(run.path(), options).notes;
  };
  const std::string end = " do not fit at full resolution (--max-data makes room).";
  EXPECT_THAT(notes_of(80), ::testing::IsEmpty());
  EXPECT_THAT(notes_of(70), ::testing::Contains("--keep: the maps of L0H3" + end));
  EXPECT_THAT(notes_of(63), ::testing::Contains("--keep: the maps of L0H4, L0H3" + end));
}

TEST(PageMaps, SaysOnceWhatIsAveragedInManyFiles) {
  RunFiles run;
  for (const std::string prefix : {"", "inputs/1/", "inputs/2/", "inputs/3/"}) {
    const std::size_t n = prefix.empty() ? 4 : 8;
    run.array(prefix + "pattern.npy", ramp(n * n), {1, n, n});
    nlohmann::json tokens = {{"heads", {"L0H0"}}};
    for (std::size_t i = 0; i < n; ++i) tokens["tokens"].push_back({{"text", "a"}});
    run.text(prefix + "tokens.json", tokens.dump());
  }
  PageOptions options;
  options.bytes = 100;
  EXPECT_EQ(
      build_page(run.finish(), options).notes,
      (std::vector<std::string>{"inputs/1/pattern.npy to inputs/3/pattern.npy (3 files): maps of 8 x 8 tokens are "
                                "shown as means over at most 2 x 2 of them."}));
}

TEST(PageMaps, LeavesOutInputsThatDoNotFit) {
  RunFiles run;
  for (const std::string prefix : {"", "inputs/1/"}) {
    run.array(prefix + "pattern.npy", ramp(9), {1, 3, 3});
    run.text(prefix + "tokens.json",
             R"({"kind":"image","name":"same.png","file":"same.png","heads":["L0H0"],
                 "tokens":[{"text":"[class]"},{"text":"p","row":0,"column":0},{"text":"p","row":1,"column":0}]})");
  }
  PageOptions options;
  options.bytes = 17;  // 9 each: patches of different rows are not averaged
  const Page page = build_page(run.finish(), options);
  const auto main = open_page(page.html).main;
  ASSERT_EQ(main["inputs"].size(), 1u);
  EXPECT_EQ(main["inputs"][0]["name"], "same.png");
  EXPECT_EQ(main["inputs"][0]["file"], "same.png");
  EXPECT_EQ(main["inputs"][0]["patches"], 2);
  EXPECT_THAT(page.notes, ::testing::Contains(HasSubstr("1 of 2 inputs are left out")));
  options.bytes = 18;
  EXPECT_EQ(open_page(build_page(run.path(), options).html).main["inputs"].size(), 2u);
}

TEST(PageMaps, ShowsThumbnailsThatCoverThePatches) {
  RunFiles run;
  run.array("pattern.npy", ramp(1), {1, 1, 1});
  run.text("tokens.json", R"({"kind":"image","heads":["L0H0"],"tokens":[{"text":"p","row":0,"column":0}]})");
  std::vector<std::uint8_t> levels(std::size_t{4} * 6 * 3, 100);
  levels[0] = 255;  // all 256 levels are values
  run.array<std::uint8_t>("thumbnail.npy", levels, {4, 6, 3});
  PageOptions options;
  const PageContents whole = open_page(build_page(run.finish(), options).html);
  const auto& array = whole.main["inputs"][0]["thumbnail"];
  EXPECT_EQ(array["shape"], (nlohmann::json{4, 6, 3}));
  EXPECT_EQ(whole.blocks.at(array["block"].get<std::size_t>())[0], '\xff');
  options.bytes = 80;  // room for 20 bytes of it
  const Page reduced = build_page(run.path(), options);
  EXPECT_EQ(open_page(reduced.html).main["inputs"][0]["thumbnail"]["shape"], (nlohmann::json{2, 3, 3}));
  EXPECT_THAT(reduced.notes, ::testing::Contains(HasSubstr("reduced by a factor of 2")));
  options.thumbnails = false;
  EXPECT_FALSE(open_page(build_page(run.path(), options).html).main["inputs"][0].contains("thumbnail"));
}

// The maps of a run of three tokens of which `organize` used two.
nlohmann::json maps_with_orders(const nlohmann::json& identity) {
  RunFiles run;
  run.array("pattern.npy", ramp(9), {1, 3, 3});
  run.array<std::int64_t>("order/query.npy", {1, 0}, {2});
  run.array<std::int64_t>("order/key.npy", {0, 1}, {2});
  run.text("tokens.json", R"({"heads":["L0H0"],"tokens":[{"text":"a"},{"text":"b"},{"text":"c"}]})");
  auto manifest = nlohmann::json::parse(std::ifstream(run.finish() / "manifest.json"));
  manifest["commands"]["organize"]["identity"] = identity;
  std::ofstream(run.path() / "manifest.json") << manifest.dump();
  return open_page(build_page(run.path()).html).main["inputs"][0]["pattern"];
}

TEST(PageMaps, CountsOrdersFromTheTokensThatOrganizeLeftOut) {
  const auto first = maps_with_orders({{"skip_first", "1"}, {"queries", ""}, {"keys", ""}});
  EXPECT_EQ(first["rows"], (nlohmann::json{2, 1}));
  EXPECT_EQ(first["columns"], (nlohmann::json{1, 2}));
  EXPECT_FALSE(maps_with_orders({{"queries", "0-1"}, {"keys", "0-1"}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders({{"queries", ""}, {"keys", "0-1"}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders({{"queries", 3}, {"keys", ""}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders(nlohmann::json::object()).contains("rows"));
}

TEST(PageMaps, CountsOrdersInFoldersOfVersion1) {
  EXPECT_EQ(maps_with_orders({{"maps", "pattern skip 1 queries  keys "}})["rows"], (nlohmann::json{2, 1}));
  EXPECT_FALSE(maps_with_orders({{"maps", "pattern skip 0 queries 0-1 keys 0-1"}}).contains("rows"));
}

TEST(PageMaps, HidesWhatACausalMaskHidesFromScores) {
  RunFiles run;
  run.array("scores.npy", ramp(4), {1, 2, 2});
  run.text("tokens.json", R"({"mask":"causal","heads":["L0H0"],"tokens":[{"text":"a"},{"text":"b"}]})");
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& maps = page.main["inputs"][0]["scores"]["maps"];
  EXPECT_TRUE(std::isnan(value_at(page, maps, 1)));
  EXPECT_NEAR(value_at(page, maps, 3), 0.75, 1e-6);
}

TEST(PageMaps, HidesWhatAMaskHidesFromPatterns) {
  RunFiles run;
  run.array("pattern.npy", std::vector<float>(18, 0.5F), {2, 3, 3});
  run.text("tokens.json", R"({"mask":"causal","windows":[0,1],"heads":["L0H0","L1H0"],
                              "tokens":[{"text":"a"},{"text":"b"},{"text":"c"}]})");
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& maps = page.main["inputs"][0]["pattern"]["maps"];
  const std::string& codes = page.blocks.at(maps["block"].get<std::size_t>());
  std::string hidden;
  for (const char code : codes) hidden += code == '\xff' ? '-' : '+';
  EXPECT_EQ(hidden,
            "+--++-+++"
            "+---+---+");  // the second layer sees one token
}

}  // namespace
}  // namespace headscope
