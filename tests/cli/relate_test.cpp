#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "headscope/io/npy.h"
#include "support/read.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"
#include "support/tiny_llama.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::expect_failure;
using test::Outcome;
using test::read;
using test::run_program;
using test::TemporaryFolder;
using test::TinyGpt2;
using testing::HasSubstr;

const std::string kModels = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/affinities/";

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Relate, WritesEverythingTheManifestLists) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Outcome outcome = run_program({"relate", kModels + "grouped", "-o", run.string(), "--top", "4"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("llama, 2 layers of 4 heads (2 KV), folded weights"));
  const auto manifest = nlohmann::json::parse(read(run / "manifest.json"));
  for (const char* name :
       {"heads.csv", "edges.csv", "wiring.csv", "graph.graphml", "graph.gexf", "graph.dot", "hubs.csv", "tree.json",
        "informativeness.csv", "affinity/pk_OQ.npy", "affinity/pk_OK.npy", "affinity/pk_OV.npy"}) {
    EXPECT_TRUE(fs::exists(run / name)) << name;
    EXPECT_TRUE(manifest["files"].contains(name)) << name;
  }
  EXPECT_EQ(manifest["commands"]["relate"]["identity"]["weights"], "folded");
  EXPECT_EQ(lines(read(run / "edges.csv")), 1 + 3 * 4u);
  EXPECT_THAT(read(run / "edges.csv"),
              testing::StartsWith("pair,source,target,score,rank,z_isotropic,z_matched,z_span,"));
  EXPECT_THAT(read(run / "edges.csv"),
              HasSubstr(",log10_p_isotropic,log10_p_matched,log10_p_span,beyond_chance,stands_out,mean_isotropic,"));
  EXPECT_THAT(read(run / "edges.csv"), HasSubstr(",law_isotropic,law_matched,law_span\n"));
  EXPECT_THAT(read(run / "edges.csv"), HasSubstr(",L1KV"));
  EXPECT_EQ(read(run / "wiring.csv"),
            "pair,pairs,beyond_chance,stands_out\nOQ,16,0,0\nOK,8,0,0\nOV,8,0,0\nall,32,0,0\n");
  const std::string headline = "No wiring beyond chance (32 pairs of heads tested)";
  EXPECT_THAT(outcome.out, testing::StartsWith(headline + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("the span null has no power in 3 of 3 classes of pairs"));
  EXPECT_EQ(manifest["commands"]["relate"]["verdict"][0], headline);
  EXPECT_EQ(NpyFile::open(run / "affinity/pk_OK.npy").array().shape, (Shape{8, 4}));
  EXPECT_EQ(lines(read(run / "heads.csv")), 1 + 8 + 4u);
  std::size_t temporary = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run))
    temporary += entry.path().extension() == ".tmp" ? 1 : 0;
  EXPECT_EQ(temporary, 0u);
}

TEST(Relate, ComparesWithOtherWeightProcessingsOnRequest) {
  const TemporaryFolder folder;
  const std::string model = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";
  const std::string run = (folder.path() / "run").string();
  const Outcome outcome = run_program({"relate", model, "-o", run, "--sensitivity", "--tokens", "0", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("sensitivity  of 7 variants of weight processing x 3 role pairs, the smallest rank "
                        "correlation with the default is 0."));
  const std::string table = read(fs::path(run) / "sensitivity.csv");
  EXPECT_THAT(table, testing::StartsWith("pair,variant,gain,centered,removed,spearman,top_overlap,top,pairs\n"
                                         "OQ,gain only,yes,no,0,"));
  EXPECT_EQ(lines(table), 1 + 7 * 3u);
  EXPECT_THAT(table, HasSubstr("\nOV,without 8 directions,yes,yes,8,"));
  // Nothing else changes, and without the option there is no such file.
  const std::string plain = (folder.path() / "plain").string();
  ASSERT_EQ(run_program({"relate", model, "-o", plain, "--tokens", "0", "--quiet"}).code, 0);
  EXPECT_FALSE(fs::exists(fs::path(plain) / "sensitivity.csv"));
  EXPECT_EQ(read(fs::path(run) / "edges.csv"), read(fs::path(plain) / "edges.csv"));
}

// All pairs of roles have a line, with an interval or the reason why there is none.
TEST(Relate, GivesTheInformativenessOfAllPairsWithIntervals) {
  const TemporaryFolder folder;
  const std::string model = std::string(HEADSCOPE_SOURCE_DIR) + "/models/demo";
  const std::string run = (folder.path() / "run").string();
  const Outcome outcome = run_program({"relate", model, "-o", run, "--tokens", "0", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("informative  OQ "));
  EXPECT_THAT(outcome.out, HasSubstr("\n             OV "));
  const std::string table = read(fs::path(run) / "informativeness.csv");
  EXPECT_THAT(table, HasSubstr(",kl_closed_form,kl_low,kl_high,kl_ceiling,at_ceiling\n"));
  EXPECT_EQ(lines(table), 4u);
}

TEST(Relate, GivesTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "3"}) {
    const std::string run = (folder.path() / threads).string();
    ASSERT_EQ(run_program({"relate", kModels + "plain", "-o", run, "--pairs", "all", "--threads", threads}).code, 0);
  }
  for (const char* name :
       {"edges.csv", "hubs.csv", "tree.json", "affinity/pk_OQ.npy", "affinity/pk_QQ.npy", "graph.gexf"}) {
    EXPECT_EQ(read(folder.path() / "1" / name), read(folder.path() / "3" / name)) << name;
  }
}

TEST(Relate, ScoresSeveralMetricsAgainstLabels) {
  const TemporaryFolder folder;
  const auto labels = folder.write("labels.json", R"({"classes": {"a": ["0.0", "1.1"], "b": ["L1H2"]}})");
  const std::string run = (folder.path() / "run").string();
  const Outcome outcome =
      run_program({"relate", kModels + "plain", "-o", run, "--metric", "pk,cs,grassmann", "--labels", labels.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines(read(fs::path(run) / "labels.csv")), 1 + 9u);
  EXPECT_THAT(read(fs::path(run) / "labels.csv"), HasSubstr("\ncs,OK,9,2,"));
  EXPECT_THAT(outcome.out, HasSubstr("grassmann OV: PR-AUC"));
}

TEST(Relate, WritesTokenProfilesOfTheHeadsInItsEdges) {
  TinyGpt2 tiny;
  for (auto& [name, shape] : tiny.shapes) {
    if (shape.size() != 2) continue;
    std::vector<float>& values = tiny.values[name];
    for (std::size_t i = 0; i < shape[0] * shape[1]; ++i)
      values.push_back(static_cast<float>((i * i * 7 + i) % 11) - 5);
  }
  const TemporaryFolder folder;
  tiny.write(folder);
  const std::vector<std::string> command = {"relate",    folder.path().string(),
                                            "-o",        (folder.path() / "run").string(),
                                            "--weights", "raw",
                                            "--top",     "1",
                                            "--tokens",  "2"};
  Outcome outcome = run_program(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no token profiles: the model has no vocabulary"));
  folder.write("vocab.json", R"({"one": 0, "two": 1, "three": 2, "four": 3, "a \"b\"": 4, "six": 5, "seven": 6})");
  outcome = run_program(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string tokens = read(folder.path() / "run" / "tokens.csv");
  EXPECT_THAT(tokens, testing::StartsWith("head,role,rank,id,token,score,log10_p,q\nL"));
  EXPECT_EQ(lines(tokens) % 2, 1u);  // two tokens a subspace, and the header
}

TEST(Relate, SaysWhyAnUnembeddingThatDoesNotFitGivesNoProfiles) {
  TinyGpt2 tiny;
  tiny.shapes["lm_head.weight"] = {7, 3};
  const TemporaryFolder folder;
  tiny.write(folder);
  folder.write("vocab.json", R"({"one": 0, "two": 1, "three": 2, "four": 3, "five": 4, "six": 5, "seven": 6})");
  const Outcome outcome =
      run_program({"relate", folder.path().string(), "-o", (folder.path() / "run").string(), "--tokens-for", "all"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no token profiles: "));
  EXPECT_THAT(outcome.out, HasSubstr("'lm_head.weight' is [7, 3], but token profiles need rows as wide"));
}

TEST(Relate, SaysHowManyPairsAreBeyondChanceAndPrintsNoTinyProbability) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string model = std::string(HEADSCOPE_SOURCE_DIR) + "/models/demo";
  const Outcome outcome = run_program({"relate", model, "-o", run.string(), "--json", "--tokens-for", "none"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out);
  const auto& all = found["wiring"].back();
  EXPECT_EQ(all["pair"], "all");
  EXPECT_EQ(all["pairs"], 3 * 384);
  EXPECT_EQ(found["verdict"][0], std::to_string(all["beyond_chance"].get<int>()) +
                                     " of 1152 pairs of heads are beyond chance, " +
                                     std::to_string(all["stands_out"].get<int>()) + " stand out");
  EXPECT_EQ(found["z_under"], "matched");
  const auto& edge = found["edges"][0];
  EXPECT_EQ(edge["beyond_chance"], true);
  EXPECT_EQ(edge["p_isotropic"], 1e-12);
  EXPECT_LT(edge["log10_p_isotropic"], -20);
  for (const std::string null : {"isotropic", "matched", "span"}) {
    const double mean = edge["mean_" + null];
    const double z = (edge["score"].get<double>() - mean) / edge["sd_" + null].get<double>();
    EXPECT_NEAR(z, edge["z_" + null].get<double>(), 1e-5 * z) << null;
  }
  std::vector<std::string> hubs;
  for (const auto& hub : found["hubs"]) {
    if (hub["significant"] == true) hubs.push_back(hub["head"]);
  }
  EXPECT_THAT(hubs, testing::UnorderedElementsAre("L0H6", "L1H4"));
  const Outcome text = run_program({"relate", model, "-o", run.string(), "--force", "--tokens-for", "none"});
  EXPECT_THAT(text.out, testing::StartsWith(found["verdict"][0].get<std::string>() + "\n"));
  EXPECT_THAT(text.out, HasSubstr("corrected for 32 heads): writes to"));
}

TEST(Relate, NamesHeadsOfLowRank) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_program({"relate", kModels + "special", "-o", (folder.path() / "run").string(), "--weights", "raw"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("warning      rank-deficient head in role Q: L1H2 (2 of 6)"));
  EXPECT_THAT(outcome.out, HasSubstr("warning      rank-deficient head in role V: L1H1 (0 of 6)"));
}

TEST(Relate, SaysThatAModelOfOneLayerHasNoEdges) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_embd": 4, "n_layer": 1, "n_head": 2})";
  for (const char* name : {"c_attn", "c_proj"}) {
    std::vector<float> values(48);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * i + 3) % 7) - 3;
    tiny.values["transformer.h.0.attn." + std::string(name) + ".weight"] = values;
  }
  const TemporaryFolder folder;
  tiny.write(folder);
  const Outcome outcome =
      run_program({"relate", folder.path().string(), "-o", (folder.path() / "run").string(), "--weights", "raw"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the model has one layer: no head is earlier than another"));
}

TEST(Relate, AcceptsAModelOfZeros) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  const Outcome outcome = run_program({"relate", folder.path().string(), "-o", (folder.path() / "run").string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no pair of heads was kept"));
}

TEST(Relate, RefusesToReplaceAnotherResultWithoutForce) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::vector<std::string> first = {"relate", kModels + "plain", "-o", run};
  std::vector<std::string> second = {"relate", kModels + "plain", "-o", run, "--weights", "raw"};
  ASSERT_EQ(run_program(first).code, 0);
  ASSERT_EQ(run_program(first).code, 0);  // the same again
  const std::string before = read(fs::path(run) / "edges.csv");
  expect_failure(second, 2, "holds the result of another 'relate' (--weights was folded, now raw)");
  EXPECT_EQ(read(fs::path(run) / "edges.csv"), before);
  second.emplace_back("--force");
  EXPECT_EQ(run_program(second).code, 0);
}

TEST(Relate, LooksOnlyAtTheLayersAndHeadsAskedFor) {
  const TemporaryFolder folder;
  const auto heads_of = [&](const std::string& name, std::vector<std::string> options) {
    const std::string run = (folder.path() / name).string();
    options.insert(options.begin(), {"relate", kModels + "grouped", "-o", run});
    const Outcome outcome = run_program(options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream table(read(fs::path(run) / "heads.csv"));
    std::string heads;
    std::string line;
    std::getline(table, line);  // the header
    while (std::getline(table, line)) heads += line.substr(0, line.find(',')) + " ";
    return heads;
  };
  EXPECT_EQ(heads_of("range", {"--layers", "0-1", "--heads", "0,2-3"}),
            "L0H0 L0H2 L0H3 L0KV0 L0KV1 L1H0 L1H2 L1H3 L1KV0 L1KV1 ");
  EXPECT_EQ(heads_of("single", {"--heads", "L0H3,1.0"}), "L0H3 L0KV1 L1H0 L1KV0 ");
  EXPECT_EQ(heads_of("mixed", {"--heads", "1,l1h2"}), "L0H1 L0KV0 L1H1 L1H2 L1KV0 L1KV1 ");
  EXPECT_EQ(NpyFile::open(folder.path() / "mixed/affinity/pk_OK.npy").array().shape, (Shape{3, 3}));
}

TEST(Relate, KeepsTheEdgesBelowAQValue) {
  const TemporaryFolder folder;
  const auto edges_of = [&](const std::string& name, const std::string& option) {
    const std::string run = (folder.path() / name).string();
    const Outcome outcome = run_program({"relate", kModels + "grouped", "-o", run, option});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return lines(read(fs::path(run) / "edges.csv")) - 1;
  };
  EXPECT_EQ(edges_of("all", "--max-q=1"), 4 * 4 + 2 * 4 * 2u);  // OQ; OK and OV have KV heads as targets
  EXPECT_LT(edges_of("few", "--max-q=0.5"), 4 * 4 + 2 * 4 * 2u);
  const Outcome help = run_program({"relate", "--help"});
  EXPECT_THAT(help.out, HasSubstr("--max-q"));
  EXPECT_THAT(help.out, testing::Not(HasSubstr("--q ")));
}

TEST(Relate, FailsWithOneLineAndTheRightCodeOnWrongInput) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string model = kModels + "plain";
  expect_failure({"relate", model}, 2, "relate needs -o or --output");
  expect_failure({"relate", model, "-o", run, "--pairs", "OX"}, 2,
                 "--pairs: expected a pair of the roles Q, K, V, O such as OQ, or all, found 'OX'");
  expect_failure({"relate", model, "-o", run, "--metric", "cosine"}, 2,
                 "--metric: unknown value 'cosine'; expected one of pk, max-cos");
  expect_failure({"relate", model, "-o", run, "--null", "flat"}, 2,
                 "--null: unknown value 'flat'; expected one of isotropic");
  expect_failure({"relate", model, "-o", run, "--metric", "cs", "--pairs", "QQ"}, 2, "not defined for pair QQ");
  expect_failure({"relate", model, "-o", run, "--metric", "cka", "--null", "matched"}, 2,
                 "null 'matched' is not defined");
  expect_failure({"relate", model, "-o", run, "--layers", "7"}, 2, "layer 7 requested, but the model has 2");
  for (const char* word : {"5-3", "-1", "x", "1-", "0-99999999999"}) {
    expect_failure(
        {"relate", model, "-o", run, "--layers=" + std::string(word)}, 2,
        "--layers: expected a layer, counted from 0, or a range such as 3-5, found '" + std::string(word) + "'");
  }
  expect_failure({"relate", model, "-o", run, "--heads", "L0"}, 2,
                 "--heads: expected an index, counted from 0, a range such as 3-5, or a query head such as L4H7 or "
                 "cross.L4H7, found 'L0'");
  expect_failure({"relate", model, "-o", run, "--heads", "9.0"}, 2, "head L9H0 requested, but the model has 2 layers");
  expect_failure({"relate", model, "-o", run, "--memory", "lots"}, 2,
                 "--memory: expected a size such as 8G, 512M, 8GB or a number of bytes, found 'lots'");
  expect_failure({"relate", model, "-o", run, "--weights", "cooked"}, 2, "--weights");
  expect_failure({"relate", model, "-o", run, "--max-q", "2"}, 2, "--max-q");
  expect_failure({"relate", model, "-o", run, "--nodes", "heads,mlps"}, 2,
                 "--nodes: unknown value 'mlps' (did you mean 'mlp'?); expected one of heads, rotary-key, mlp, "
                 "embedding, position, unembedding");
  expect_failure({"relate", model, "-o", run, "--nodes", "mlp"}, 2, "--nodes: expected heads among the nodes");
  expect_failure({"relate", "/no/such", "-o", run}, 3, "/no/such: no such file or folder");
  const auto labels = folder.write("labels.json", R"({"classes": {"previous": ["4.1"]}})");
  expect_failure({"relate", model, "-o", run, "--labels", labels.string()}, 3,
                 "names L4H1, but the model has 2 layers");
  expect_failure({"relate", model, "-o", (labels / "run").string()}, 3, "cannot create the folder");
}

TEST(Relate, ComparesOtherComponentsOnRequest) {
  const TemporaryFolder folder;
  test::TinyLlama().write(folder);
  const fs::path run = folder.path() / "run";
  const Outcome outcome = run_program({"relate", folder.path().string(), "-o", run.string(), "--nodes",
                                       "heads,mlp,embedding,position,unembedding", "--neurons", "2", "--top", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("pairs beyond chance (isotropic)"));
  EXPECT_THAT(outcome.out, HasSubstr("no node P (position): it has no table of positions"));
  const auto manifest = nlohmann::json::parse(read(run / "manifest.json"));
  for (const char* name :
       {"components.csv", "component_edges.csv", "component_wiring.csv", "component_hubs.csv", "graph_mib.json",
        "components/overlap_OM.npy", "components/overlap_MU.npy", "components/pk_EQ.npy", "neurons.csv"}) {
    EXPECT_TRUE(fs::exists(run / name)) << name;
    EXPECT_TRUE(manifest["files"].contains(name)) << name;
  }
  EXPECT_FALSE(fs::exists(run / "components/pk_OM.npy"));  // what the MLPs read fills the stream
  EXPECT_EQ(NpyFile::open(run / "components/overlap_OM.npy").array().shape, (Shape{8, 2}));
  EXPECT_THAT(read(run / "components.csv"), HasSubstr("\nL0M,mlp,M,yes,0,24,,"));
  EXPECT_THAT(read(run / "components.csv"), HasSubstr("\nE,embedding,E,no,,13,12,"));
  EXPECT_THAT(read(run / "component_edges.csv"), HasSubstr("\nOM,L"));
  EXPECT_THAT(read(run / "graph.graphml"), HasSubstr("<node id=\"L1M\">"));
  EXPECT_THAT(read(run / "neurons.csv"), HasSubstr(",out,"));
  // The files about heads are those of a run without other components.
  const fs::path plain = folder.path() / "plain";
  ASSERT_EQ(run_program({"relate", folder.path().string(), "-o", plain.string(), "--top", "3"}).code, 0);
  for (const char* name : {"heads.csv", "edges.csv", "hubs.csv", "wiring.csv", "tree.json", "affinity/pk_OQ.npy"}) {
    EXPECT_EQ(read(run / name), read(plain / name)) << name;
  }
  EXPECT_FALSE(fs::exists(plain / "components.csv"));
}

TEST(Relate, SaysWhenAModelHasNoOtherComponents) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  expect_failure({"relate", folder.path().string(), "-o", (folder.path() / "run").string(), "--nodes", "heads,mlp"}, 3,
                 "--nodes: only heads are known of this model");
}

TEST(Relate, FailsWithCode4OnANonFiniteWeight) {
  TinyGpt2 tiny;
  std::vector<float> values(48, 1);
  values[13] = std::numeric_limits<float>::quiet_NaN();
  tiny.values["transformer.h.1.attn.c_attn.weight"] = values;
  const TemporaryFolder folder;
  tiny.write(folder);
  expect_failure({"relate", folder.path().string(), "-o", (folder.path() / "run").string()}, 4,
                 "tensor 'transformer.h.1.attn.c_attn.weight' holds NaN or Inf at index [1, 1]");
  EXPECT_FALSE(fs::exists(folder.path() / "run" / "manifest.json"));
}

TEST(Relate, NamesDevicesThatThisBuildHas) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  expect_failure({"relate", kModels + "plain", "-o", run, "--device", "gpu"}, 2,
                 "--device: unknown device 'gpu'; expected one of cpu, cuda");
  expect_failure({"relate", kModels + "plain", "-o", run, "--device", "cuda:x"}, 2,
                 "--device: unknown device 'cuda:x'; expected one of cpu, cuda");
  expect_failure({"relate", kModels + "plain", "-o", run, "--precision", "bf16"}, 2, "the CPU computes in float32");
  EXPECT_EQ(run_program({"relate", kModels + "plain", "-o", run, "--device", "cpu", "--precision", "float32"}).code, 0);
  const auto manifest = nlohmann::json::parse(read(fs::path(run) / "manifest.json"));
  EXPECT_EQ(manifest["commands"]["relate"]["identity"]["engine"], "cpu");
}

}  // namespace
}  // namespace headscope::cli
