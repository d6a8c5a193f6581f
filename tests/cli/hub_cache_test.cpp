#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/hub_cache.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::expect_failure;
using test::HubCache;
using test::kCommit;
using test::Outcome;
using test::run_program;
using test::TemporaryFolder;
using test::TinyGpt2;
using testing::HasSubstr;

const fs::path kDemo = fs::path(HEADSCOPE_SOURCE_DIR) / "models/demo";

nlohmann::json parse(const fs::path& file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

TEST(HubCache, InspectSaysWhereAModelWasFound) {
  const TinyGpt2 tiny;
  const HubCache cache;
  cache.add("me/tiny", {{"config.json", tiny.config}, {"model.safetensors", tiny.safetensors()}});
  const std::string snapshot = cache.snapshot("me/tiny").string();
  for (const std::string& name : {std::string("me/tiny"), std::string("tiny"), snapshot}) {
    const Outcome table = run_program({"inspect", name});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("model        " + snapshot + "\n"));
    EXPECT_THAT(table.out, HasSubstr("repository   me/tiny\n"));
    EXPECT_THAT(table.out, HasSubstr("commit       " + kCommit + "\n"));
    const auto json = nlohmann::json::parse(run_program({"inspect", name, "--json"}).out);
    EXPECT_EQ(json["model"], snapshot);
    EXPECT_EQ(json["repository"], "me/tiny");
    EXPECT_EQ(json["commit"], kCommit);
  }
  EXPECT_EQ(nlohmann::json::parse(run_program({"inspect", kDemo.string(), "--json"}).out)["repository"], nullptr);
}

TEST(HubCache, EveryCommandRunsOnLinks) {
  const HubCache cache;
  cache.add("me/demo", HubCache::files_of(kDemo));
  cache.add_dangling("me/demo", "generation_config.json");
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string plain = (folder.path() / "plain").string();
  const std::vector<std::vector<std::string>> commands = {
      {"relate"},
      {"capture", "--text", "the cat sat"},
      {"detect", "--sequences", "2"},
      {"prune", "--text", "the cat sat on the mat", "--criteria", "norm", "--force"}};
  for (const std::vector<std::string>& command : commands) {
    for (const auto& [model, output] : {std::pair(std::string("me/demo"), run), std::pair(kDemo.string(), plain)}) {
      std::vector<std::string> words = command;
      words.insert(words.begin() + 1, {model, "-o", output, "--quiet"});
      const Outcome outcome = run_program(words);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  // The same model, wherever it was found; where is told beside it.
  const auto cached = parse(fs::path(run) / "manifest.json")["commands"];
  const auto typed = parse(fs::path(plain) / "manifest.json")["commands"];
  ASSERT_EQ(cached.size(), typed.size());
  for (const auto& [name, command] : cached.items()) {
    EXPECT_THAT(command.dump(), HasSubstr(R"("repository":"me/demo")"));
    EXPECT_THAT(command.dump(), HasSubstr("\"commit\":\"" + kCommit + "\""));
    EXPECT_THAT(typed[name].dump(), testing::Not(HasSubstr("repository")));
  }
  const auto files = HubCache::files_of(fs::path(run) / "pruned");
  EXPECT_EQ(files, HubCache::files_of(fs::path(plain) / "pruned"));
  EXPECT_EQ(files.count("tokenizer.json"), 1u);
  for (const auto& entry : fs::directory_iterator(fs::path(run) / "pruned")) EXPECT_FALSE(entry.is_symlink());
  EXPECT_EQ(
      HubCache::files_of(kDemo).at("model.safetensors"),
      HubCache::files_of(cache.path() / "models--me--demo/blobs").at(kCommit.substr(0, 8) + "-model.safetensors"));
}

TEST(HubCache, FailuresSayWhatToDoNext) {
  const HubCache cache;
  cache.add("one/tiny", {});
  cache.add("two/tiny", {});
  const std::string path = cache.path().string();
  for (const char* command : {"inspect", "reproduce"}) {
    expect_failure({command, "gpt2"}, 3,
                   "gpt2: no such file or folder, and the Hugging Face cache (" + path +
                       ") has no model of this name; download it with: hf download gpt2");
  }
  expect_failure({"relate", "me/x", "-o", "run", "--revision", "v1"}, 3, "hf download me/x --revision v1");
  expect_failure({"inspect", "tiny"}, 3, "pass one of one/tiny, two/tiny");
  expect_failure({"inspect", path}, 3, "name one of its models: one/tiny, two/tiny");
  expect_failure({"inspect", "one/tiny"}, 3, "hf download one/tiny --include '*.safetensors*'");
  expect_failure({"inspect", "one/tiny", "--revision", "../.."}, 2, "is not the name of a branch, tag or commit");
  expect_failure({"inspect", kDemo.string(), "--revision", "main"}, 2, "only models of the Hugging Face cache");
  expect_failure({"inspect", ""}, 3, "'': no such file or folder");
  expect_failure({"inspect", std::string(5000, 'a')}, 3, "File name too long");
  cache.add("me/untold", {{"config.json", TinyGpt2().config}, {"model.safetensors", TinyGpt2().safetensors()}});
  expect_failure({"capture", "untold", "-o", "run", "--text", "a"}, 3,
                 "download it with: hf download me/untold tokenizer.json, or pass token ids with --ids");
}

TEST(Family, OverridesTheConfigurationAndIsPartOfTheResult) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt3", "n_embd": 4, "n_layer": 2, "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  const std::string model = folder.path().string();
  expect_failure({"inspect", model}, 3, "model_type 'gpt3' is unknown; its tensors match gpt2; try --family gpt2");
  expect_failure({"inspect", model, "--family", "gpt3"}, 2,
                 "unknown family 'gpt3' (did you mean 'gpt2'?); expected one of aimv2_vision, albert, ");
  expect_failure({"inspect", model, "--family", "llama"}, 3, "was requested as family llama, but there is no");
  EXPECT_THAT(run_program({"inspect", model, "--family", "gpt2"}).out,
              HasSubstr("note         family gpt2 as requested, not as stated in config.json"));

  // Of RoBERTa's tensors BERT makes something else, though the files are the same.
  const std::string roberta = (fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/roberta").string();
  const std::string run = (folder.path() / "run").string();
  ASSERT_EQ(run_program({"relate", roberta, "-o", run, "--quiet"}).code, 0);
  EXPECT_EQ(run_program({"relate", roberta, "-o", run, "--quiet", "--family", "roberta"}).code, 0);
  expect_failure({"relate", roberta, "-o", run, "--quiet", "--family", "bert"}, 2, "family");
  EXPECT_EQ(run_program({"relate", roberta, "-o", run, "--quiet", "--family", "bert", "--force"}).code, 0);
  EXPECT_THAT(parse(fs::path(run) / "manifest.json").dump(), HasSubstr(R"("family":"bert")"));
}

TEST(Family, AdaptersAndSeveralGgufFilesAreBadInput) {
  const TemporaryFolder folder;
  folder.write("adapter/adapter_config.json", R"({"peft_type": "LORA", "base_model_name_or_path": "me/base"})");
  expect_failure({"inspect", (folder.path() / "adapter").string()}, 3, "is an adapter (LORA) of 'me/base'");
  folder.write("gguf/a.gguf", "");
  folder.write("gguf/b.gguf", "");
  expect_failure({"inspect", (folder.path() / "gguf").string()}, 3, "pass one of them: a.gguf, b.gguf");
}

TEST(CommandLine, TellsTheSameOfModelEverywhere) {
  for (const char* command : {"inspect", "relate", "capture", "detect", "prune", "reproduce"}) {
    const std::string help = run_program({command, "--help"}).out;
    for (const char* words : {"Hugging Face cache", "--revision", "--family"}) EXPECT_THAT(help, HasSubstr(words));
  }
}

}  // namespace
}  // namespace headscope::cli
