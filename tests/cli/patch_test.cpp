#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "headscope/io/csv_reader.h"
#include "headscope/io/npy.h"
#include "support/read.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::expect_failure;
using test::Outcome;
using test::read;
using test::run_program;
using test::TemporaryFolder;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kSource = HEADSCOPE_SOURCE_DIR;
const std::string kDemo = kSource + "/models/demo";
const std::string kVit = kSource + "/models/demo-vit";
const std::string kForward = kSource + "/tests/golden/forward/";

class PatchTest : public testing::Test {
 protected:
  // Runs the command in a folder of its own.
  Outcome patch(const std::string& run, std::vector<std::string> words) {
    return run_program(all_words(run, std::move(words)));
  }
  void expect_patch_fails(const std::string& run, const std::vector<std::string>& words, int code,
                          const std::string& message) {
    expect_failure(all_words(run, words), code, message);
  }
  [[nodiscard]] std::vector<std::string> all_words(const std::string& run, std::vector<std::string> words) const {
    words.insert(words.begin(), {"patch"});
    words.insert(words.end(), {"-o", path(run), "--quiet"});
    return words;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return path(name);
  }
  [[nodiscard]] CsvRows table(const std::string& run, const std::string& name) const {
    return parse_csv(read(folder_.path() / run / name), name);
  }

  TemporaryFolder folder_;
};

std::vector<std::string> lists() {
  return {kDemo, "--text", "drum river brave coin drum river brave coin", "--pairs", "OQ,OK", "--top", "4"};
}

TEST_F(PatchTest, CutsChosenEdgesAndControls) {
  const Outcome outcome = patch("run", lists());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("over 8 predictions with nothing cut"));
  EXPECT_TRUE(fs::exists(path("run/screen/OQ.npy")));
  EXPECT_FALSE(fs::exists(path("run/screen/OV.npy")));
  const CsvRows edges = table("run", "patch.csv");
  const std::vector<std::string> expected = {
      "pair",          "source", "target",         "pk",        "z", "local", "effect", "kind",
      "beyond_chance", "sample", "above_controls", "in_circuit"};
  EXPECT_EQ(edges.columns, expected);
  std::map<std::string, std::size_t> kinds;
  for (std::size_t i = 0; i < edges.rows(); ++i) ++kinds[std::string(edges.cell(i, 7))];
  EXPECT_EQ(kinds["top"], 8u);
  EXPECT_EQ(kinds["control"], kinds["top"] + kinds["screen"]);
  const Json circuit = Json::parse(read(path("run/circuit.json")));
  EXPECT_EQ(circuit["metric"], "loss");
  EXPECT_GT(circuit["before"].get<double>(), 0);
  std::size_t in_circuit = 0;
  for (std::size_t i = 0; i < edges.rows(); ++i) {
    in_circuit += edges.cell(i, 11) == "yes" && edges.cell(i, 7) != "control" ? 1 : 0;
  }
  EXPECT_EQ(circuit["edges"].size(), in_circuit);
  EXPECT_THAT(read(path("run/circuit.graphml")), HasSubstr("attr.name=\"effect\""));
  const Json manifest = Json::parse(read(path("run/manifest.json")));
  EXPECT_FALSE(manifest["commands"]["patch"]["verdict"].empty());
  const Outcome unknown = patch("unknown", {kDemo, "--text", "xyzzy plugh drum", "--screen-only"});
  EXPECT_THAT(unknown.out, HasSubstr("warning: "));
}

TEST_F(PatchTest, GivenEdgesHaveTheEffectsOfChosenOnes) {
  ASSERT_EQ(patch("run", lists()).code, 0);
  const CsvRows all = table("run", "patch.csv");
  std::string text = "source,comment,target,pair\n";
  for (std::size_t i : {0UL, all.rows() - 1}) {
    text += std::string(all.cell(i, 1)) + ",," + std::string(all.cell(i, 2)) + "," + std::string(all.cell(i, 0)) + "\n";
  }
  std::vector<std::string> words = lists();
  words.resize(words.size() - 2);  // --edges and --top exclude each other
  words.insert(words.end(), {"--edges", write("edges.csv", text)});
  ASSERT_EQ(patch("given", words).code, 0);
  const CsvRows given = table("given", "patch.csv");
  ASSERT_EQ(given.rows(), 2u);
  for (const auto& [row, chosen] : {std::pair(0UL, 0UL), std::pair(1UL, all.rows() - 1)}) {
    for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(given.cell(row, c), all.cell(chosen, c));
    // Cuts in other batches: BLAS kernels of some processors round a row differently beside others.
    const auto effect = [](std::string_view cell) { return std::stod(std::string(cell)); };
    EXPECT_NEAR(effect(given.cell(row, 6)), effect(all.cell(chosen, 6)), 1e-5);
  }
  EXPECT_EQ(given.cell(0, 7), "given");
}

TEST_F(PatchTest, CutsEdgesToComponents) {
  const std::string text = "drum river brave coin drum river brave coin";
  const Outcome outcome =
      patch("run", {kDemo, "--text", text, "--nodes", "mlp,unembedding", "--top", "4", "--controls", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("edges to MLPs"));
  EXPECT_THAT(outcome.out, HasSubstr("edges to the unembedding"));
  EXPECT_FALSE(fs::exists(path("run/patch.csv")));
  EXPECT_FALSE(fs::exists(path("run/screen")));
  const CsvRows cuts = table("run", "patch_components.csv");
  const std::vector<std::string> expected = {"pair",   "source", "target",        "overlap",        "z",
                                             "effect", "kind",   "beyond_chance", "above_controls", "in_circuit"};
  EXPECT_EQ(cuts.columns, expected);
  std::map<std::string, std::size_t> kinds;
  for (std::size_t i = 0; i < cuts.rows(); ++i) {
    ++kinds[std::string(cuts.cell(i, 0)) + " " + std::string(cuts.cell(i, 6))];
    EXPECT_EQ(cuts.cell(i, 2) == "U", cuts.cell(i, 0) == "OU");
  }
  EXPECT_EQ(kinds["OM top"], 4u);
  EXPECT_EQ(kinds["OU top"], 4u);
  EXPECT_EQ(kinds["OM control"], 8u);
  const CsvRows agreement = table("run", "patch_component_agreement.csv");
  ASSERT_EQ(agreement.rows(), 2u);
  EXPECT_EQ(agreement.cell(0, 0), "OM");
  EXPECT_EQ(agreement.cell(0, 1), "4");
  // By name, with an edge between heads beside them: the same numbers.
  std::string rows = "pair,source,target\nOK,L0H0,L1H3\n";
  for (const std::size_t i : {0UL, cuts.rows() - 1}) {
    rows +=
        std::string(cuts.cell(i, 0)) + "," + std::string(cuts.cell(i, 1)) + "," + std::string(cuts.cell(i, 2)) + "\n";
  }
  ASSERT_EQ(patch("given", {kDemo, "--text", text, "--edges", write("edges.csv", rows)}).code, 0);
  EXPECT_EQ(table("given", "patch.csv").rows(), 1u);
  const CsvRows given = table("given", "patch_components.csv");
  ASSERT_EQ(given.rows(), 2u);
  for (const auto& [row, chosen] : {std::pair(0UL, 0UL), std::pair(1UL, cuts.rows() - 1)}) {
    EXPECT_EQ(given.cell(row, 3), cuts.cell(chosen, 3));
    EXPECT_NEAR(std::stod(std::string(given.cell(row, 5))), std::stod(std::string(cuts.cell(chosen, 5))), 1e-5);
    EXPECT_EQ(given.cell(row, 6), "given");
  }
  const Json circuit = Json::parse(read(path("given/circuit.json")));
  ASSERT_EQ(circuit["edges"].size(), 3u);
  EXPECT_EQ(circuit["edges"][1]["pair"], "OM");
  EXPECT_TRUE(circuit["edges"][1].contains("overlap"));
  EXPECT_THAT(read(path("given/circuit.graphml")), HasSubstr("<data key=\"n2\">mlp</data>"));
}

TEST_F(PatchTest, GivesTheSameBytesForAnyNumberOfThreads) {
  std::vector<std::string> words = lists();
  words.insert(words.end(), {"--threads", "1"});
  ASSERT_EQ(patch("one", words).code, 0);
  words.back() = "3";
  ASSERT_EQ(patch("three", words).code, 0);
  for (const std::string name : {"patch.csv", "patch_agreement.csv", "screen/OQ.npy", "circuit.json"}) {
    EXPECT_EQ(read(path("one/" + name)), read(path("three/" + name))) << name;
  }
}

TEST_F(PatchTest, PairedInputsAndLogitDifferences) {
  const std::string clean = "When Mary and John went to the store, John gave a drink to";
  const std::string other = write("other.txt", "When Mary and John went to the store, Mary gave a drink to");
  const Outcome outcome = patch("run", {kDemo, "--text", clean, "--pairs-with", other, "--metric", "logit-diff",
                                        "--answer", "Mary", "--other", "John", "--pairs", "OV", "--top", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json circuit = Json::parse(read(path("run/circuit.json")));
  EXPECT_EQ(circuit["replace"], "pair");
  EXPECT_EQ(circuit["predictions"], 1);
  EXPECT_GT(circuit["before"].get<double>(), 1);  // it says Mary
  // The same text as its own pair changes nothing.
  const std::string same = write("same.txt", clean);
  ASSERT_EQ(patch("same", {kDemo, "--text", clean, "--pairs-with", same, "--pairs", "OV", "--top", "2"}).code, 0);
  const CsvRows edges = table("same", "patch.csv");
  for (std::size_t i = 0; i < edges.rows(); ++i) {
    EXPECT_EQ(edges.cell(i, 5), "0");
    EXPECT_LT(std::abs(std::stod(std::string(edges.cell(i, 6)))), 1e-6);
  }
}

TEST_F(PatchTest, ImagesNeedTheirClasses) {
  const std::vector<std::string> words = {kVit,    "--image", kVit + "/samples/digit-3.png", "--pairs", "OV",
                                          "--top", "2"};
  expect_patch_fails("run", words, 2, "no loss is defined for an image without its class: give --labels or --answer");
  std::vector<std::string> with_class = words;
  with_class.insert(with_class.end(), {"--answer", "3"});
  const Outcome outcome = patch("run", with_class);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  with_class.back() = "10";
  expect_patch_fails("none", with_class, 2, "--answer: class 10 does not exist, the model has 10");
}

TEST_F(PatchTest, MaskedModelsNeedTheHiddenTokens) {
  const std::string model = kForward + "bert";
  const std::vector<std::int64_t> ids = {3, 5, 7, 2, 9, 4};
  write_npy<std::int64_t>(path("ids.npy"), ids, std::vector<std::size_t>{6});
  const std::vector<std::string> words = {model, "--ids", path("ids.npy")};
  expect_patch_fails("none", words, 2, "no loss is defined for a masked language model without the hidden tokens");
  std::vector<std::string> screened = words;
  screened.emplace_back("--screen-only");
  const Outcome outcome = patch("run", screened);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Nothing was cut."));
  EXPECT_TRUE(fs::exists(path("run/screen/OV.npy")));
  EXPECT_FALSE(fs::exists(path("run/patch.csv")));
  const std::vector<std::int64_t> labels = {-100, 5, -100, -100, 8, -100};
  write_npy<std::int64_t>(path("labels.npy"), labels, std::vector<std::size_t>{6});
  std::vector<std::string> masked = words;
  masked.insert(masked.end(), {"--labels", path("labels.npy"), "--top", "2", "--draws", "2"});
  ASSERT_EQ(patch("masked", masked).code, 0);
  EXPECT_EQ(Json::parse(read(path("masked/circuit.json")))["predictions"], 2);
  write_npy<std::int64_t>(path("labels.npy"), std::span(labels).first(5), std::vector<std::size_t>{5});
  expect_patch_fails("none", masked, 3, "labels.npy: found 5 labels, expected 6: one per token");
}

TEST_F(PatchTest, RefusesWhatCannotBe) {
  const auto fails = [&](std::vector<std::string> more, int code, const std::string& message) {
    std::vector<std::string> words = {kDemo, "--text", "drum river brave"};
    words.insert(words.end(), more.begin(), more.end());
    expect_patch_fails("run", words, code, message);
    EXPECT_FALSE(fs::exists(path("run")));
  };
  const auto edges = [&](const std::string& row) { return write("edges.csv", "pair,source,target\n" + row + "\n"); };
  fails({"--edges", edges("OK,L0H0,L9H0")}, 3, "edges.csv line 2: the model has no head L9H0 with role K");
  fails({"--edges", edges("OK,L0H8,L1H0")}, 3, "the model has no head L0H8: it has 4 layers of 8 heads");
  fails({"--edges", edges("OK,L1H0,L1H3")}, 3, "L1H3 is not in a later layer than L1H0");
  fails({"--edges", edges("QK,L0H0,L1H3")}, 3, "expected pair OQ, OK, OV, OM or OU, found 'QK'");
  fails({"--edges", edges("OR,L0H0,L1R")}, 3, "edges to L1R, the rotary key that the heads of its layer share");
  fails({"--edges", edges("OK,first,L1H3")}, 3, "expected the name of a head such as L4H7 or L4KV1, found 'first'");
  fails({"--edges", edges("OM,L0H0,L1H3")}, 3, "expected the name of an MLP such as L4M, found 'L1H3'");
  fails({"--edges", edges("OM,L0H0,L9M")}, 3, "edges.csv line 2: the model has no L9M: it has 4 layers");
  fails({"--edges", edges("OM,L2H0,L1M")}, 3, "L1M does not read after L2H0 writes");
  fails({"--edges", edges("OU,L0H0,L3M")}, 3, "expected U, the unembedding, found 'L3M'");
  fails({"--edges", edges("OU,L0H0,U"), "--nodes", "mlp"}, 2, "give one of the two");
  fails({"--nodes", "mlp", "--screen-only"}, 2, "only pairs of heads are screened");
  fails({"--edges", write("empty.csv", "pair,source,target\n")}, 3, "empty.csv: has no edges");
  fails({"--edges", write("other.csv", "a,b\n")}, 3, "other.csv: has no column 'pair'");
  fails({"--replace", "pair"}, 2, "--replace pair needs the paired inputs: give --pairs-with");
  fails({"--replace", "zero", "--pairs-with", write("b.txt", "coin coin brave")}, 2, "used only by --replace pair");
  fails({"--pairs-with", write("c.txt", "coin")}, 2, "input 0 has 4 tokens and the paired one 2");
  fails({"--pairs-with", write("d.txt", "coin\nbrave\n"), "--lines"}, 2, "1 inputs and 2 paired ones");
  fails({"--metric", "logit-diff"}, 2, "needs two tokens: give --answer and --other");
  fails({"--answer", "coin river"}, 2, "--answer: 'coin river' is 2 tokens, expected one");
  fails({"--answer", "xyzzy"}, 2, "--answer: 'xyzzy' is not in the vocabulary");
  fails({"--answer", "coin", "--answer", "brave"}, 2, "--answer: found 2 for 1 inputs");
  fails({"--loss-from", "17"}, 2, "--loss-from 17: no input has a prediction at or after it");
  fails({"--memory", "1M"}, 6, "memory");
}

}  // namespace
}  // namespace headscope::cli
