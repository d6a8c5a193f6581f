#include "headscope/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
using ::testing::Not;

constexpr const char* kHeads =
    "head,layer,number,kind,rank_Q,rank_K,rank_V,rank_O,classes\n"
    "L0H0,0,0,query,2,2,2,2,\nL0H1,0,1,query,2,2,2,2,previous\nL1H0,1,0,query,2,2,2,2,\nL1H1,1,1,query,2,2,2,2,\n";

// A RUN with four heads.
struct HeadFiles : RunFiles {
  HeadFiles() { text("heads.csv", kHeads); }
};

TEST(Page, HoldsTablesByColumnsNumbersAsNumbers) {
  RunFiles run;
  run.text("heads.csv", kHeads);
  run.text("edges.csv", "pair,source,target,score,rank,z_span\nOQ,L0H0,L1H1,1.5,1,\nOK,L0H1,L1H1,-2e-3,2,4\n");
  const auto main = open_page(build_page(run.finish()).html).main;
  const auto& columns = main["tables"]["edges"]["columns"];
  EXPECT_EQ(main["tables"]["edges"]["rows"], 2);
  EXPECT_EQ(columns[0]["values"], (nlohmann::json{"OQ", "OK"}));
  EXPECT_EQ(columns[3]["values"], (nlohmann::json{1.5, -2e-3}));
  EXPECT_EQ(columns[5]["values"], (nlohmann::json{nullptr, 4.0}));
}

TEST(Page, KeepsAffinitiesWithinTheStatedError) {
  HeadFiles run;
  std::vector<float> values = ramp(16);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  run.array("affinity/pk_OQ.npy", values, {4, 4});
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& array = page.main["affinities"][0]["array"];
  EXPECT_EQ(array["type"], "u16");
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 5) {
      EXPECT_TRUE(std::isnan(value_at(page, array, i)));
    } else {
      EXPECT_NEAR(value_at(page, array, i), values[i], 15.0 / 4 / 65534 / 2 * 1.001) << i;
    }
  }
}

TEST(Page, CountsOnlyPairsFromEarlierToLaterLayers) {
  HeadFiles run;
  run.array("affinity/pk_OQ.npy", ramp(16), {4, 4});
  run.text("informativeness.csv",
           "pair,pairs,observed_mean,observed_sd,random_mean,random_sd,kl,bin_width,smoothed,kl_fine,fine_width,"
           "fine_smoothed,kl_closed_form\nOQ,4,1,0.5,2,0.25,0.5,0.1,no,0.5,0.1,no,0.5\n");
  const auto main = open_page(build_page(run.finish()).html).main;
  const auto& histogram = main["affinities"][0]["histogram"];
  std::size_t total = 0;
  for (const auto& count : histogram["counts"]) total += count.get<std::size_t>();
  EXPECT_EQ(total, 4u);  // rows 0, 1 with columns 2, 3
  EXPECT_EQ(histogram["random"]["mean"], 2.0);
  EXPECT_LE(histogram["low"].get<double>(), 0.5);
}

TEST(Page, TakesFewerBitsAndLeavesOutTheLastWhenTheBudgetIsSmall) {
  HeadFiles run;
  run.array("affinity/pk_QQ.npy", ramp(16), {4, 4});
  run.array("affinity/pk_OK.npy", ramp(16), {4, 4});
  PageOptions options;
  options.bytes = 20;
  const Page page = build_page(run.finish(), options);
  const auto main = open_page(page.html).main;
  EXPECT_EQ(main["affinities"][0]["pair"], "OK");  // pairs that make circuits come first
  EXPECT_EQ(main["affinities"][0]["array"]["type"], "u8");
  EXPECT_FALSE(main["affinities"][1].contains("array"));
  EXPECT_THAT(page.notes, ::testing::Contains(HasSubstr("1 of 2 affinity matrices")));
}

TEST(Page, LetsNothingOfTheDataBeHtml) {
  HeadFiles run;
  run.text("tokens.csv",
           "head,role,rank,id,token,score\nL0H0,O,1,7,\"</script><script>alert(1)</script>\",1\n"
           "L0H0,O,2,8,\"\"\"'`\xd7\xa9\xd7\x9c\xf0\x9f\x98\x80\xff\",1\n");
  PageOptions options;
  options.title = "</title><b>";
  const std::string html = build_page(run.finish(), options).html;
  EXPECT_THAT(html, Not(HasSubstr("alert(1)")));
  EXPECT_THAT(html, Not(HasSubstr("</title><b>")));
  const auto main = open_page(html).main;
  EXPECT_EQ(main["title"], "</title><b>");
  EXPECT_EQ(main["tables"]["tokens"]["columns"][4]["values"][0], "</script><script>alert(1)</script>");
  EXPECT_EQ(main["tables"]["tokens"]["columns"][4]["values"][1], "\"'`\xd7\xa9\xd7\x9c\xf0\x9f\x98\x80\xef\xbf\xbd");
}

TEST(Page, NamesWhatIsWrong) {
  struct Case {
    const char* name;
    void (*fill)(RunFiles&);
    const char* message;
  };
  const Case cases[] = {
      {"nothing", [](RunFiles&) {}, "holds nothing to show"},
      {"no column", [](RunFiles& run) { run.text("edges.csv", "pair,source\n"); }, "has no column 'target'"},
      {"ragged", [](RunFiles& run) { run.text("heads.csv", "head,layer,index,kind,classes\nL0H0,0\n"); },
       "line 2 has 2 cells"},
      {"head",
       [](RunFiles& run) {
         run.text("heads.csv", "head,layer,index,kind,rank_Q,rank_K,rank_V,rank_O,classes\n<b>,0,0,query,2,2,2,2,\n");
       },
       "'<b>' in row 1 is not a head"},
      {"no heads",
       [](RunFiles& run) {
         run.array("affinity/pk_OQ.npy", ramp(16), {4, 4});
       },
       "not heads.csv"},
      {"axes",
       [](RunFiles& run) {
         run.text("heads.csv", kHeads);
         run.array("affinity/pk_OQ.npy", ramp(16), {16});
       },
       "expected 2 axes"},
      {"shape",
       [](RunFiles& run) {
         run.text("heads.csv", kHeads);
         run.array("affinity/pk_OQ.npy", ramp(12), {4, 3});
       },
       "is [4, 3], expected [4, 4]"},
      {"tree", [](RunFiles& run) { run.text("tree.json", R"({"n":2,"levels":[{"folders":[[0,1]]}]})"); }, "tree.json"},
      {"names",
       [](RunFiles& run) {
         run.text("tree.json", R"({"n":2,"levels":[{"folders":[[0,1]]},{"folders":[[0],[1]]}],"names":["a","a"]})");
       },
       "duplicate name 'a'"},
      {"order",
       [](RunFiles& run) {
         run.array<std::int64_t>("order/query.npy", {0, 0}, {2});
       },
       "is not a permutation"},
      {"negative",
       [](RunFiles& run) {
         run.array<std::int64_t>("order/key.npy", {0, -1}, {2});
       },
       "is not a permutation"},
      {"square",
       [](RunFiles& run) {
         run.array("affinity/head.npy", ramp(6), {2, 3});
       },
       "expected a square"},
      {"axis",
       [](RunFiles& run) {
         run.array("affinity/head.npy", ramp(4), {2, 2});
         run.array("embedding/head.npy", ramp(9), {3, 3});
       },
       "other files of axis 'head'"},
      {"tokens",
       [](RunFiles& run) {
         run.array("pattern.npy", ramp(8), {2, 2, 2});
       },
       "no tokens.json"},
      {"token text",
       [](RunFiles& run) {
         run.array("pattern.npy", ramp(8), {2, 2, 2});
         run.text("tokens.json", R"({"heads":["L0H0","L0H1"],"tokens":[{"text":"a"},{"id":3}]})");
       },
       "'text'"},
      {"maps",
       [](RunFiles& run) {
         run.array("pattern.npy", ramp(8), {2, 2, 2});
         run.text("tokens.json", R"({"heads":["L0H0","L0H1"],"tokens":[{"text":"a"}]})");
       },
       "is [2, 2, 2], expected"},
      {"not json",
       [](RunFiles& run) {
         run.array("pattern.npy", ramp(8), {2, 2, 2});
         run.text("tokens.json", "{");
       },
       "tokens.json"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    RunFiles run;
    one.fill(run);
    const auto folder = run.finish();
    const bool nothing = std::string_view(one.name) == "nothing";
    EXPECT_ERROR(build_page(folder), nothing ? ErrorKind::kUnsupported : ErrorKind::kFormat, one.message);
  }
}

TEST(Page, RefusesWhatIsNotARun) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(build_page(folder.path()), ErrorKind::kIo, "no manifest.json");
  folder.write("manifest.json", "[]");
  EXPECT_ERROR(build_page(folder.path()), ErrorKind::kFormat, "is not a manifest");
  folder.write("manifest.json", R"({"files":{"edges.csv":{}},"commands":{}})");
  EXPECT_ERROR(build_page(folder.path()), ErrorKind::kIo, "edges.csv");
}

TEST(Page, OpensNothingOutsideTheFolder) {
  const test::TemporaryFolder folder;
  folder.write("secret.csv", "a\nb\n");
  folder.write("run/heads.csv", kHeads);
  folder.write("run/manifest.json",
               R"({"files":{"../secret.csv":{},"/etc/passwd":{},"affinity/../../secret.npy":{},"heads.csv":{},)"
               R"("paraproduct/../../x.npz":{}},"commands":{}})");
  const auto main = open_page(build_page(folder.path() / "run").html).main;
  EXPECT_EQ(main["tables"].size(), 1u);
}

TEST(Page, AveragesMapsThatAreTooLarge) {
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

TEST(Page, KeepsTheMapsOfChosenHeadsAsTheyAre) {
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

TEST(Page, SaysWhichChosenHeadsAreAveragedAfterAll) {
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

TEST(Page, SaysOnceWhatIsAveragedInManyFiles) {
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

TEST(Page, LeavesOutInputsThatDoNotFit) {
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

TEST(Page, ShowsThumbnailsThatCoverThePatches) {
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

TEST(Page, CountsOrdersFromTheTokensThatOrganizeLeftOut) {
  const auto first = maps_with_orders({{"skip_first", "1"}, {"queries", ""}, {"keys", ""}});
  EXPECT_EQ(first["rows"], (nlohmann::json{2, 1}));
  EXPECT_EQ(first["columns"], (nlohmann::json{1, 2}));
  EXPECT_FALSE(maps_with_orders({{"queries", "0-1"}, {"keys", "0-1"}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders({{"queries", ""}, {"keys", "0-1"}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders({{"queries", 3}, {"keys", ""}}).contains("rows"));
  EXPECT_FALSE(maps_with_orders(nlohmann::json::object()).contains("rows"));
}

TEST(Page, CountsOrdersInFoldersOfVersion1) {
  EXPECT_EQ(maps_with_orders({{"maps", "pattern skip 1 queries  keys "}})["rows"], (nlohmann::json{2, 1}));
  EXPECT_FALSE(maps_with_orders({{"maps", "pattern skip 0 queries 0-1 keys 0-1"}}).contains("rows"));
}

TEST(Page, CallsColumnsByTheirPresentNames) {
  HeadFiles run;  // of version 1
  const auto columns = open_page(build_page(run.finish()).html).main["tables"]["heads"]["columns"];
  EXPECT_EQ(columns[2]["name"], "index");
  EXPECT_EQ(columns[2]["values"], (nlohmann::json{0.0, 1.0, 0.0, 1.0}));
}

TEST(Page, KeepsTextsAsTextsAndOtherColumnsAsTheyAre) {
  RunFiles run;
  run.text("tokens.csv", "head,role,rank,id,token,score,own\nL0H0,O,1,7,12,1,3\nL0H0,O,2,8,1.0,word,4\n");
  run.text("unknown.csv", "a,b\n1,x\n2,y\n");
  const auto tables = open_page(build_page(run.finish()).html).main["tables"];
  const auto& tokens = tables["tokens"]["columns"];
  EXPECT_EQ(tokens[4]["values"], (nlohmann::json{"12", "1.0"}));
  EXPECT_EQ(tokens[5]["values"], (nlohmann::json{"1", "word"}));  // not a number, but shown
  EXPECT_EQ(tokens[6]["values"], (nlohmann::json{3.0, 4.0}));
  EXPECT_EQ(tables["unknown"]["columns"][0]["values"], (nlohmann::json{1.0, 2.0}));
  EXPECT_EQ(tables["unknown"]["columns"][1]["values"], (nlohmann::json{"x", "y"}));
}

TEST(Page, HidesWhatACausalMaskHidesFromScores) {
  RunFiles run;
  run.array("scores.npy", ramp(4), {1, 2, 2});
  run.text("tokens.json", R"({"mask":"causal","heads":["L0H0"],"tokens":[{"text":"a"},{"text":"b"}]})");
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& maps = page.main["inputs"][0]["scores"]["maps"];
  EXPECT_TRUE(std::isnan(value_at(page, maps, 1)));
  EXPECT_NEAR(value_at(page, maps, 3), 0.75, 1e-6);
}

TEST(Page, HidesWhatAMaskHidesFromPatterns) {
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

TEST(Page, IsTheSameForTheSameFolder) {
  HeadFiles run;
  run.array("affinity/pk_OQ.npy", ramp(16), {4, 4});
  const auto folder = run.finish();
  EXPECT_EQ(build_page(folder).html, build_page(folder).html);
}

constexpr const char* kPruneSummary =
    R"({"heads":4,"removed":2,"chosen_on":1,"measured_on":3,"held_out":true,"damage_measure":"kl","said":"None does.",
        "rankings":[{"criterion":"pk","structural":true},{"criterion":"norm","structural":false}]})";

TEST(Page, TakesWhatPruneSays) {
  RunFiles run;
  run.text("prune.json", kPruneSummary);
  run.text("ranking.csv",
           "criterion,seed,rank,head,layer,index,score,removed,zero_already\npk,,1,L0H1,0,1,0.5,yes,no\n");
  const auto prune = open_page(build_page(run.finish()).html).main["prune"];
  EXPECT_EQ(prune["said"], "None does.");
  EXPECT_EQ(prune["measure"], "kl");
  EXPECT_EQ(prune["measured_on"], 3);
  EXPECT_EQ(prune["structural"], (nlohmann::json{"pk"}));
}

// Two runs; the first with a tree of three heads.
struct ComparedFiles : RunFiles {
  explicit ComparedFiles(const std::string& second = "b", const std::vector<float>& affinity = ramp(9)) {
    text("compare.json",
         R"({"runs":[{"name":"1.0","kind":"text","inputs":3,"heads":3,"tokens":"8"},{"name":")" + second +
             R"("}],"pairs":[{"a":0,"b":1,"differ":1,"tested":2,"verdict":"differ in 1 of 2 features"}]})");
    array("distances.npy", std::vector<float>{0, 1.5, 1.5, 0}, {2, 2});
    text("features.csv", "run,input,feature,x,value\n1.0,0,l1,,2\n1,0,l1,,3\n");
    text("compared/0/head.json",
         R"({"n":3,"levels":[{"folders":[[0,1,2]]},{"folders":[[0,2],[1]]},{"folders":[[0],[2],[1]]}],
             "names":["L0H0","L0H1","L1H0"]})");
    array("compared/0/head.npy", affinity, {3, affinity.size() / 3});
  }
};

TEST(Page, HoldsComparedRunsInTheOrderOfTheirTrees) {
  ComparedFiles run;
  const PageContents page = open_page(build_page(run.finish()).html);
  const auto& comparison = page.main["comparison"];
  EXPECT_EQ(comparison["runs"][0]["name"], "1.0");
  EXPECT_EQ(comparison["runs"][1]["inputs"], 0);
  EXPECT_EQ(comparison["distances"], (nlohmann::json{0.0, 1.5, 1.5, 0.0}));
  EXPECT_EQ(comparison["pairs"][0]["verdict"], "differ in 1 of 2 features");
  ASSERT_EQ(comparison["axes"].size(), 1u);
  const auto& axis = comparison["axes"][0];
  EXPECT_EQ(axis["tree"]["order"], (nlohmann::json{0, 2, 1}));
  EXPECT_NEAR(value_at(page, axis["array"], 1), 0.5, 0.005);  // row 0, column 2
  // Names are texts, whatever they look like.
  EXPECT_EQ(page.main["tables"]["features"]["columns"][0]["values"], (nlohmann::json{"1.0", "1"}));
}

TEST(Page, RefusesComparisonsThatContradictThemselves) {
  EXPECT_ERROR(build_page(ComparedFiles("1.0").finish()), ErrorKind::kFormat, "duplicate name '1.0'");
  EXPECT_ERROR(build_page(ComparedFiles("b", ramp(6)).finish()), ErrorKind::kFormat,
               "to match the elements of its tree");
  RunFiles three;
  three.text("compare.json", R"({"runs":[{"name":"a"},{"name":"b"},{"name":"c"}]})");
  three.array("distances.npy", std::vector<float>{0, 1, 1, 0}, {2, 2});
  EXPECT_ERROR(build_page(three.finish()), ErrorKind::kFormat, "expected [3, 3]");
  RunFiles pair;
  pair.text("compare.json", R"({"runs":[{"name":"a"},{"name":"b"}],"pairs":[{"a":0,"b":2}]})");
  pair.array("distances.npy", std::vector<float>{0, 1, 1, 0}, {2, 2});
  EXPECT_ERROR(build_page(pair.finish()), ErrorKind::kFormat, "pair 0 does not refer to two runs");
  RunFiles prune;
  prune.text("prune.json", R"({"said":7})");
  EXPECT_ERROR(build_page(prune.finish()), ErrorKind::kFormat, "has no string 'said'");
  RunFiles ranking;
  ranking.text("ranking.csv",
               "criterion,seed,rank,head,layer,index,score,removed,zero_already\npk,,1,nobody,0,1,0.5,yes,no\n");
  EXPECT_ERROR(build_page(ranking.finish()), ErrorKind::kFormat, "'nobody' in row 1 is not a head");
}

}  // namespace
}  // namespace headscope
