#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/io/json.h"
#include "headscope/io/npy.h"
#include "headscope/io/npz.h"
#include "headscope/tree/tree_json.h"
#include "support/map_files.h"
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
using testing::Not;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Organize, WritesEverythingTheManifestLists) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {2, 4, 20, 24});
  const fs::path run = folder.path() / "run";
  const Outcome outcome = run_program({"organize", maps.string(), "--axes", "lhqk", "-o", run.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 heads x 20 queries x 24 keys, pattern, no mask"));
  EXPECT_THAT(outcome.out, testing::StartsWith("The trees make the network "));
  EXPECT_THAT(outcome.out, HasSubstr("sparser than maps with the same mask and row values (one input, one draw)."));
  const auto manifest = nlohmann::json::parse(read(run / "manifest.json"));
  for (const std::string& axis : std::vector<std::string>{"head", "query", "key"}) {
    const std::size_t n = axis == "head" ? 8 : axis == "query" ? 20 : 24;
    for (const std::string& name : {"trees/" + axis + ".json", "affinity/" + axis + ".npy",
                                    "embedding/" + axis + ".npy", "order/" + axis + ".npy"}) {
      EXPECT_TRUE(fs::exists(run / name)) << name;
      EXPECT_TRUE(manifest["files"].contains(name)) << name;
    }
    const JsonDocument document = JsonDocument::open(run / ("trees/" + axis + ".json"));
    const PartitionTree tree = tree_from_json(document.root(), axis);
    EXPECT_EQ(tree.size(), n);
    const NpyFile order = NpyFile::open(run / ("order/" + axis + ".npy"));
    const auto leaves = npy_values<std::int64_t>(order.array(), axis);
    EXPECT_TRUE(std::equal(leaves.begin(), leaves.end(), tree.order().begin(), tree.order().end(),
                           [](std::int64_t a, std::size_t b) { return a == static_cast<std::int64_t>(b); }));
    EXPECT_EQ(NpyFile::open(run / ("affinity/" + axis + ".npy")).array().shape, (Shape{n, n}));
    EXPECT_EQ(NpyFile::open(run / ("embedding/" + axis + ".npy")).array().shape[0], n);
  }
  EXPECT_EQ(NpyFile::open(run / "haar/network.npy").array().shape, (Shape{8, 20, 24}));
  EXPECT_EQ(lines(read(run / "sparsity.csv")), 1 + 9u);
  EXPECT_THAT(read(run / "sparsity.csv"), HasSubstr("\nL1H3,"));
  EXPECT_THAT(read(run / "trees/head.json"), HasSubstr("\"L1H3\""));
  EXPECT_THAT(read(run / "decay.csv"), HasSubstr("network,1,"));
  EXPECT_EQ(lines(read(run / "convergence.csv")), 1 + 3u);
  const auto& identity = manifest["commands"]["organize"]["identity"];
  EXPECT_EQ(identity["iterations"], "3");
  EXPECT_EQ(identity["beta"], "1");
  EXPECT_EQ(identity["axes"], "lhqk");
  EXPECT_EQ(identity["queries"], "");
  EXPECT_EQ(identity["device"], "cpu");
  EXPECT_EQ(identity["source"].get<std::string>().size(), 16u);
}

TEST(Organize, TakesAFolderOfCapturedMapsWithItsMaskAndTokens) {
  const TemporaryFolder folder;
  const fs::path captured = test::write_run(folder, 2, 3, 16);
  const std::string run = (folder.path() / "run").string();
  Outcome outcome = run_program({"organize", captured.string(), "-o", run, "--skip-first", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("6 heads x 15 queries x 15 keys, pattern, 47 % of the entries absent"));
  EXPECT_THAT(outcome.out, HasSubstr("the first token is left out"));
  EXPECT_THAT(read(fs::path(run) / "trees/query.json"), HasSubstr("\"t15\""));
  outcome = run_program({"organize", captured.string(), "-o", run + "2", "--what", "scores", "--layers", "1",
                         "--queries", "4-11", "--mask", "none"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3 heads x 8 queries x 16 keys, scores, no mask"));
  outcome = run_program({"organize", captured.string(), "-o", run + "3", "--heads", "L0H1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 heads x 16"));
  EXPECT_EQ(lines(read(fs::path(run + "3") / "convergence.csv")), 1 + 10u);
}

TEST(Organize, ReadsOtherFormatsAndAxes) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {6, 10, 12});
  const NpyFile file = NpyFile::open(maps);
  const auto values = npy_values<float>(file.array(), "maps");
  const fs::path npz = folder.path() / "maps.npz";
  NpzWriter writer(npz);
  writer.add<float>("attention", values, Shape{6, 10, 12});
  writer.add<float>("other", std::vector<float>(4), Shape{4});
  writer.commit();
  std::vector<float> transposed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) transposed[i % 120 * 6 + i / 120] = values[i];
  write_npy<float>(folder.path() / "qkh.npy", transposed, Shape{10, 12, 6});

  const auto run = [&](const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), "organize");
    words.insert(words.end(), {"-o", (folder.path() / name).string()});
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read(folder.path() / name / "sparsity.csv") + read(folder.path() / name / "trees/key.json");
  };
  const std::string expected = run("a", {maps.string()});
  EXPECT_EQ(run("b", {npz.string(), "--array", "attention"}), expected);
  EXPECT_EQ(run("c", {(folder.path() / "qkh.npy").string(), "--axes", "qkh"}), expected);
  expect_failure({"organize", npz.string(), "-o", (folder.path() / "d").string()}, 2, "choose one with --array");
  expect_failure({"organize", npz.string(), "--array", "x", "-o", (folder.path() / "d").string()}, 3,
                 "has no array 'x', only attention, other");
}

TEST(Organize, GivesTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {9, 30, 40});
  for (const char* threads : {"1", "3"}) {
    ASSERT_EQ(
        run_program({"organize", maps.string(), "-o", (folder.path() / threads).string(), "--threads", threads}).code,
        0);
  }
  for (const char* name : {"trees/head.json", "affinity/key.npy", "embedding/query.npy", "haar/network.npy",
                           "sparsity.csv", "decay.csv", "convergence.csv"}) {
    EXPECT_EQ(read(folder.path() / "1" / name), read(folder.path() / "3" / name)) << name;
  }
}

TEST(Organize, BeginsWithTheTreesOfAnotherRun) {
  const TemporaryFolder folder;
  const std::string maps = test::write_maps(folder, "maps", {6, 10, 12}).string();
  const std::string wide = test::write_maps(folder, "wide", {6, 10, 14}).string();
  const std::string first = (folder.path() / "first").string();
  ASSERT_EQ(run_program({"organize", maps, "-o", first}).code, 0);
  const std::string second = (folder.path() / "second").string();
  ASSERT_EQ(run_program({"organize", maps, "-o", second, "--start", first}).code, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "second/trees/key.json"));
  expect_failure({"organize", wide, "-o", (folder.path() / "third").string(), "--start", first}, 3,
                 "trees/key.json: is a tree of 12 elements, expected the 14 of the key axis");
  folder.write("first/trees/query.json", "{\"n\": 10}");
  expect_failure({"organize", maps, "-o", (folder.path() / "third").string(), "--start", first}, 3,
                 "query.json: has no 'levels' list");
}

TEST(Organize, PrintsJson) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {6, 10, 12});
  const Outcome outcome = run_program({"organize", maps.string(), "-o", (folder.path() / "run").string(), "--json",
                                       "--tree", "binary", "--stop-below", "0.5", "--iterations", "9"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto root = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(root["heads"], 6);
  EXPECT_EQ(root["stopped_early"], true);
  EXPECT_EQ(root["sparsity"].size(), 6u);
  EXPECT_EQ(root["inputs"].size(), 1u);
  EXPECT_THAT(root["verdict"][0].get<std::string>(), HasSubstr("the same mask and row values"));
}

TEST(Organize, AcceptsConstantMapsAndSaysSo) {
  const TemporaryFolder folder;
  write_npy<float>(folder.path() / "flat.npy", std::vector<float>(4 * 5 * 6, 0.25F), Shape{4, 5, 6});
  const Outcome outcome =
      run_program({"organize", (folder.path() / "flat.npy").string(), "-o", (folder.path() / "run").string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("one value throughout in H0, H1, H2, H3"));
  EXPECT_THAT(outcome.out, HasSubstr("all head slices are equal"));
  EXPECT_THAT(outcome.out, testing::StartsWith("No gain over the control: the trees make the network 1.00x sparser"));
}

// Adds another input to a folder of captured maps.
void add_input(const fs::path& run, std::size_t number, const fs::path& other) {
  const fs::path folder = run / "inputs" / std::to_string(number);
  fs::create_directories(folder);
  for (const char* name : {"pattern.npy", "scores.npy", "tokens.json"}) fs::copy_file(other / name, folder / name);
}

TEST(Organize, WorksOnAllInputsOfAFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder second;
  const fs::path captured = test::write_run(folder, 2, 2, 16);
  add_input(captured, 1, captured);
  add_input(captured, 2, test::write_run(second, 2, 2, 12));
  const fs::path run = folder.path() / "run";
  Outcome outcome = run_program({"organize", captured.string(), "-o", run.string(), "--draws", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("over 3 inputs)"));
  EXPECT_EQ(lines(read(run / "inputs.csv")), 1 + 3u);
  // Heads in all pairs of inputs, queries and keys in the one pair of equal length, which are the same maps.
  EXPECT_EQ(lines(read(run / "stability.csv")), 1 + 3 + 1 + 1u);
  EXPECT_THAT(read(run / "stability.csv"), HasSubstr("\nhead,0,1,1,1\n"));
  EXPECT_THAT(read(run / "stability.csv"), HasSubstr("\nquery,0,1,1,1\n"));
  const JsonDocument consensus = JsonDocument::open(run / "trees/head_consensus.json");
  EXPECT_EQ(tree_from_json(consensus.root(), "consensus").size(), 4u);
  const auto manifest = nlohmann::json::parse(read(run / "manifest.json"));
  EXPECT_THAT(outcome.out, testing::StartsWith(manifest["commands"]["organize"]["verdict"][0].get<std::string>()));
  EXPECT_TRUE(manifest["commands"]["organize"]["identity"].contains("other_inputs"));

  outcome = run_program({"organize", captured.string(), "-o", (folder.path() / "two").string(), "--inputs", "2",
                         "--draws", "2", "--controls", "2", "--queries", "0-13", "--keys", "0-13"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("left out: 1 more inputs; --inputs 3 includes them"));
  outcome = run_program({"organize", captured.string(), "-o", (folder.path() / "short").string(), "--draws", "2",
                         "--controls", "0", "--queries", "0-13", "--keys", "0-13"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("left out: input 2: "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("sparser than")));
}

TEST(Organize, FailsWithOneLineAndTheRightCodeOnWrongInput) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string maps = test::write_maps(folder, "maps", {3, 6, 7}).string();
  const auto fails = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    std::vector<std::string> all = {"organize"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"-o", run});
    expect_failure(all, code, text);
    EXPECT_FALSE(fs::exists(fs::path(run) / "manifest.json"));
  };
  expect_failure({"organize", maps}, 2, "organize needs -o or --output");
  fails({"/no/such.npy"}, 3, "/no/such.npy: no such file or folder");
  fails({folder.path().string()}, 3, "has no pattern.npy");
  fails({maps, "--axes", "lhqk"}, 3, "the array is [3, 6, 7], which does not match the 4 axes of 'lhqk'");
  fails({maps, "--axes", "khq"}, 2, "--axes: unknown value 'khq'; expected one of hqk, lhqk, qkh, qk");
  fails({maps, "--what", "logits"}, 2, "--what");
  fails({maps, "--mask", "upper"}, 2, "--mask: unknown mask 'upper'; expected one of none, causal, zeros");
  fails({maps, "--mask", "/no/mask.npy"}, 3, "/no/mask.npy");
  fails({maps, "--heads", "7"}, 2, "none of the 3 heads is left");
  fails({maps, "--heads", "a"}, 2, "--heads: expected an index, counted from 0, a range such as 3-5");
  fails({maps, "--layers", "0"}, 2, "does not say which layer a head belongs to");
  fails({maps, "--queries", "2-9"}, 2, "queries 2 to 10 requested, expected a range within 0 to 6");
  fails({maps, "--keys", "3"}, 3, "1 keys left, expected at least 2");
  fails({maps, "--skip-first", "6"}, 3, "0 queries left");
  fails({maps, "--memory", "lots"}, 2, "--memory: expected a size such as 8G");
  fails({maps, "--memory", "1K"}, 6, "use a larger --memory");
  fails({maps, "--iterations", "0"}, 2, "--iterations: expected an integer from 1 to 1000000");
  fails({maps, "--epsilon", "-1"}, 2, "--epsilon: expected a number greater than 0");
  fails({maps, "--draws", "1"}, 2, "--draws");
  write_npy<float>(folder.path() / "mask.npy", std::vector<float>(6), Shape{2, 3});
  fails({maps, "--mask", (folder.path() / "mask.npy").string()}, 3, "the mask is [2, 3], expected [6, 7]");
  std::vector<float> rows(42, 1.0F);
  std::fill(rows.begin() + 14, rows.begin() + 21, 0.0F);
  write_npy<float>(folder.path() / "rows.npy", rows, Shape{6, 7});
  fails({maps, "--mask", (folder.path() / "rows.npy").string()}, 3, "query 2 has no present entry in any head");
  std::vector<float> broken(3 * 6 * 7, 1.0F);
  broken[50] = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>(folder.path() / "nan.npy", broken, Shape{3, 6, 7});
  fails({(folder.path() / "nan.npy").string()}, 4, "head H1, query 1, key 1 is nan, expected a finite number");
  write_npy<float>(folder.path() / "thin.npy", std::vector<float>(12, 1.0F), Shape{2, 6, 1});
  fails({(folder.path() / "thin.npy").string()}, 3, "1 keys left, expected at least 2");
  write_npy<float>(folder.path() / "empty.npy", std::vector<float>{}, Shape{0, 6, 2});
  fails({(folder.path() / "empty.npy").string()}, 3, "the array is [0, 6, 2], expected at least 1 along every axis");
  folder.write("maps.txt", "1 2 3");
  fails({(folder.path() / "maps.txt").string()}, 3, "expected a folder with maps, or an .npy, .npz or .safetensors");
  folder.write("bad.npy", "not an array");
  fails({(folder.path() / "bad.npy").string()}, 3, "bad.npy");
}

TEST(Organize, RefusesToReplaceAnotherResultWithoutForce) {
  const TemporaryFolder folder;
  const std::string maps = test::write_maps(folder, "maps", {3, 6, 7}).string();
  const std::string run = (folder.path() / "run").string();
  ASSERT_EQ(run_program({"organize", maps, "-o", run}).code, 0);
  ASSERT_EQ(run_program({"organize", maps, "-o", run}).code, 0);
  expect_failure({"organize", maps, "-o", run, "--epsilon", "2"}, 2, "holds the result of another 'organize'");
  EXPECT_EQ(run_program({"organize", maps, "-o", run, "--epsilon", "2", "--force"}).code, 0);
}

TEST(Softmax, WritesInvarianceAndTheArraysOfChosenHeads) {
  const TemporaryFolder folder;
  const fs::path captured = test::write_run(folder, 2, 2, 20);
  const fs::path run = folder.path() / "run";
  Outcome outcome = run_program({"softmax", captured.string(), "-o", run.string(), "--heads", "L0H1,L1H0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 heads, 20 queries x 20 keys"));
  EXPECT_THAT(outcome.out, HasSubstr("scores_softmax: affinities"));
  EXPECT_EQ(lines(read(run / "invariance.csv")), 1 + 2u);
  EXPECT_THAT(read(run / "invariance.csv"), testing::StartsWith("head,error_first,error_second,"));
  EXPECT_THAT(read(run / "invariance_levels.csv"), HasSubstr("L1H0,scores_softmax,query,"));
  const NpzFile arrays = NpzFile::open(run / "paraproduct/L0H1.npz");
  EXPECT_EQ(arrays.names(), (std::vector<std::string>{"scores", "softmax", "first_order", "approximation"}));
  const auto softmax = arrays.find("softmax");
  ASSERT_TRUE(softmax);
  const auto values = npy_values<double>(softmax->view(), "softmax");
  double row = 0;
  for (std::size_t k = 0; k < 20; ++k) row += values[7 * 20 + k];  // over all keys, whatever the mask
  EXPECT_NEAR(row, 1, 1e-12);

  outcome = run_program({"softmax", captured.string(), "-o", (folder.path() / "all").string(), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["invariance"].size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["verdict"].size(), 2u);
  EXPECT_EQ(lines(read(folder.path() / "all/invariance_inputs.csv")), 1 + 1u);
  EXPECT_FALSE(fs::exists(folder.path() / "all/paraproduct"));
}

TEST(Softmax, RefusesWhatIsASoftmaxAlready) {
  const TemporaryFolder folder;
  write_npy<float>(folder.path() / "pattern.npy", std::vector<float>(4 * 5 * 5, 0.2F), Shape{4, 5, 5});
  expect_failure({"softmax", (folder.path() / "pattern.npy").string(), "-o", (folder.path() / "run").string()}, 3,
                 "so softmax was already applied");
  expect_failure({"softmax", folder.path().string(), "-o", (folder.path() / "run").string()}, 3, "has no scores.npy");
}

}  // namespace
}  // namespace headscope::cli
