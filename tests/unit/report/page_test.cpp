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
