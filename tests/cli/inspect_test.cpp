#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "support/run_program.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope::cli {
namespace {

using test::expect_failure;
using test::Outcome;
using test::run_program;
using test::SafetensorsWriter;
using test::TemporaryFolder;
using test::TinyGpt2;
using testing::HasSubstr;

TEST(Inspect, PrintsATableForPeople) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  const Outcome outcome = run_program({"inspect", folder.path().string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* line : {"family       gpt2 (text, causal)", "layers       2", "heads        2 per layer, 4 in total",
                           "position     learned", "norm         LayerNorm, before attention"}) {
    EXPECT_THAT(outcome.out, HasSubstr(line));
  }
}

TEST(Families, AreListedAsATableAndAsJson) {
  const Outcome table = run_program({"families"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("gpt2"));
  EXPECT_THAT(table.out, HasSubstr("\ninspect MODEL says what works for a model, and why.\n"));
  EXPECT_THAT(table.out, HasSubstr("family                   input  relate  capture, detect, patch  prune  GGUF\n"));
  const auto json = nlohmann::json::parse(run_program({"families", "--json"}).out)["families"];
  ASSERT_GE(json.size(), 20u);
  for (const auto& family : json) {
    EXPECT_EQ(family["relate"], true);
    EXPECT_EQ(family["capture"], family["detect"]);
    EXPECT_EQ(family["capture"], family["patch"]);
    if (family["family"] == "t5") EXPECT_EQ(family["prune"], false);
    if (family["family"] == "llama") {
      EXPECT_EQ(family["gguf_architecture"], "llama");
    }
    if (family["family"] == "opt") {
      EXPECT_EQ(family["gguf_architecture"], nullptr);
    }
  }
}

TEST(Inspect, NamesTheNearestFamilyOfAnUnknownModel) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "mistrall"})");
  folder.write("model.safetensors", SafetensorsWriter().add("x", {4}).str());
  expect_failure({"inspect", folder.path().string()}, 3,
                 "model_type 'mistrall' is unknown; the nearest known is mistral; 'headscope families' lists all");
}

TEST(Inspect, PrintsJsonForMachines) {
  const TemporaryFolder folder;
  TinyGpt2 tiny;
  tiny.shapes["transformer.ln_f.weight"] = {4};
  tiny.shapes.erase("transformer.h.1.ln_1.weight");
  tiny.write(folder);
  const Outcome outcome = run_program({"inspect", "--json", folder.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["family"], "gpt2");
  EXPECT_EQ(json["layers"], 2);
  EXPECT_EQ(json["heads"], 2);
  EXPECT_EQ(json["kv_heads"], 2);
  EXPECT_EQ(json["d_model"], 4);
  EXPECT_EQ(json["d_head"], 2);
  EXPECT_EQ(json["dtype"], "F32");
  EXPECT_EQ(json["tied_embeddings"], true);
  EXPECT_EQ(json["tensors_used"].size(), 6u);
  EXPECT_EQ(json["tensors_ignored"], nlohmann::json::array({"transformer.ln_f.weight"}));
  EXPECT_EQ(json["tensors_missing"], nlohmann::json::array({"transformer.h.1.ln_1.weight"}));
  EXPECT_EQ(json["commands"]["relate"]["works"], false);
}

TEST(Inspect, ListsEveryTensorOnRequest) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  EXPECT_THAT(run_program({"inspect", folder.path().string()}).out, HasSubstr("(4 more; --tensors lists all)"));
  EXPECT_THAT(run_program({"inspect", folder.path().string(), "--tensors"}).out, HasSubstr("transformer.wte.weight\n"));
}

TEST(Inspect, FailsWithCode3OnAMissingFile) {
  expect_failure({"inspect", "/no/such/model"}, 3, "/no/such/model: no such file or folder");
}

TEST(Inspect, FailsWithCode3OnAFolderWithoutConfig) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", TinyGpt2().safetensors());
  expect_failure({"inspect", folder.path().string()}, 3, "has no config.json");
}

TEST(Inspect, FailsWithCode3OnATruncatedShard) {
  const TemporaryFolder folder;
  const TinyGpt2 tiny;
  folder.write("config.json", tiny.config);
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"transformer.wte.weight": "model-00001-of-00001.safetensors"}})");
  const std::string whole = tiny.safetensors();
  folder.write("model-00001-of-00001.safetensors", whole.substr(0, whole.size() - 10));
  expect_failure({"inspect", folder.path().string()}, 3, "model-00001-of-00001.safetensors: tensor ");
  expect_failure({"inspect", folder.path().string()}, 3, "(is it truncated?)");
}

TEST(Inspect, FailsWithCode3OnATensorOfTheWrongShape) {
  TinyGpt2 tiny;
  tiny.shapes["transformer.h.0.attn.c_proj.weight"] = {4, 5};
  const TemporaryFolder folder;
  tiny.write(folder);
  expect_failure({"inspect", folder.path().string()}, 3,
                 "tensor 'transformer.h.0.attn.c_proj.weight' is [4, 5], expected [4, 4]");
}

TEST(Inspect, FailsWithCode3OnAnUnknownFamilyAndListsAttentionLookingTensors) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "newformer"})");
  folder.write("model.safetensors", SafetensorsWriter().add("l.0.attn.q_proj.weight", {4, 4}).str());
  expect_failure({"inspect", folder.path().string()}, 3, "l.{i}.attn.q_proj.weight [4, 4]");
}

TEST(Inspect, FailsWithCode3OnAnUnsupportedQuantization) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama", "quantization_config": {"quant_method": "hqq"}})");
  folder.write("model.safetensors", SafetensorsWriter().add("a", {4, 4}).str());
  expect_failure({"inspect", folder.path().string()}, 3, "weights are quantized with");
}

TEST(Inspect, FailsWithCode4OnANonFiniteWeightWhenAskedToCheck) {
  TinyGpt2 tiny;
  std::vector<float> values(16);
  values[6] = std::numeric_limits<float>::infinity();
  tiny.values["transformer.h.1.attn.c_proj.weight"] = values;
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_EQ(run_program({"inspect", folder.path().string()}).code, 0);
  expect_failure({"inspect", folder.path().string(), "--check"}, 4,
                 "tensor 'transformer.h.1.attn.c_proj.weight' holds NaN or Inf at index [1, 2]");
}

TEST(Inspect, FailsWithCode3WhenAskedToCheckWeightsThatAreNotThere) {
  TinyGpt2 tiny;
  tiny.shapes.erase("transformer.h.1.attn.c_proj.weight");
  const TemporaryFolder folder;
  tiny.write(folder);
  expect_failure({"inspect", folder.path().string(), "--check"}, 3,
                 "layer 1 lacks tensor 'transformer.h.1.attn.c_proj.weight'");
}

TEST(Inspect, FailsWithCode3OnAPickleFile) {
  const TemporaryFolder folder;
  expect_failure({"inspect", folder.write("pytorch_model.bin", "PK").string()}, 3, "pickle files are never opened");
}

TEST(CommandLine, FailsWithCode2OnWrongUse) {
  expect_failure({}, 2, "no command given, expected one such as");
  expect_failure({"inspect"}, 2, "inspect needs a MODEL");
  expect_failure({"inspect", "a", "b"}, 2, "'b' is too much: inspect takes one MODEL");
  expect_failure({"fly"}, 2, "'fly' is not a command; 'headscope --help' shows the commands");
  expect_failure({"inspect", "a", "--threads", "0"}, 2, "--threads");
}

TEST(CommandLine, KeepsErrorsOnOneLineWhateverNamesHold) {
  const TemporaryFolder folder;
  TinyGpt2 tiny;
  std::map<std::string, Shape> renamed;
  for (const auto& [name, shape] : tiny.shapes) renamed["x\\n\\u001b[31m." + name] = shape;
  renamed["x\\n\\u001b[31m.transformer.h.0.attn.c_proj.weight"] = {4, 5};
  tiny.shapes = renamed;
  tiny.write(folder);
  expect_failure({"inspect", folder.path().string()}, 3, "tensor 'x\\x0a\\x1b[31m.transformer");
  expect_failure({"inspect", "no\nsuch\x1b[2Jmodel"}, 3, "no\\x0asuch\\x1b[2Jmodel: no such file or folder");
}

TEST(CommandLine, FailsWithCode6WhenTheResultCannotBeWritten) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  const std::string path = folder.path().string();
  const char* argv[] = {"headscope", "inspect", path.c_str()};
  std::ofstream full("/dev/full");
  std::ostringstream err;
  EXPECT_EQ(run(3, argv, {.out = full, .err = err}), 6);
  EXPECT_THAT(err.str(), HasSubstr("cannot write the result"));
}

TEST(CommandLine, PrintsHelpWithAnExampleAndTheVersion) {
  EXPECT_THAT(run_program({"--help"}).out, HasSubstr("inspect"));
  EXPECT_EQ(run_program({"--help"}).code, 0);
  EXPECT_THAT(run_program({"inspect", "--help"}).out, HasSubstr("Example: headscope inspect"));
  EXPECT_THAT(run_program({"--version"}).out, testing::StartsWith("headscope "));
}

TEST(ExitCode, FollowsTheKindOfError) {
  EXPECT_EQ(exit_code(ErrorKind::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorKind::kIo), 3);
  EXPECT_EQ(exit_code(ErrorKind::kFormat), 3);
  EXPECT_EQ(exit_code(ErrorKind::kUnsupported), 3);
  EXPECT_EQ(exit_code(ErrorKind::kNumeric), 4);
  EXPECT_EQ(exit_code(ErrorKind::kBackend), 5);
  EXPECT_EQ(exit_code(ErrorKind::kResource), 6);
}

}  // namespace
}  // namespace headscope::cli
