#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/app/capture.h"
#include "support/expect_error.h"
#include "support/run_bytes.h"
#include "support/temporary_folder.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::bytes_of;
using test::TemporaryFolder;
using test::TinyLlama;

// A small model, open already, and a request that runs it on seven tokens.
class CaptureRequestTest : public testing::Test {
 protected:
  CaptureRequestTest() {
    TinyLlama().write(folder_);
    request_.model.opened = std::make_shared<const Model>(Model::open(folder_.path()));
    request_.inputs.in_memory = {test::some_tokens(7, TinyLlama::kVocabulary)};
  }
  [[nodiscard]] CaptureRequest on_disk() const {
    CaptureRequest request = request_;
    request.output.run = folder_.path() / "run";
    return request;
  }
  [[nodiscard]] Option& option(const std::string& name) { return *options_.find(name); }

  TemporaryFolder folder_;
  CaptureRequest request_;
  OptionList options_ = options_of(request_);
};

TEST_F(CaptureRequestTest, OptionsShowTheDefaultsOfTheFields) {
  EXPECT_EQ(to_string(option("what").default_value()), "pattern,scores");
  EXPECT_EQ(to_string(option("dtype").default_value()), "f32");
  EXPECT_EQ(to_string(option("ablation").default_value()), "zero");
  EXPECT_EQ(to_string(option("memory").default_value()), "8G");
  EXPECT_EQ(to_string(option("queries").default_value()), "");
  EXPECT_EQ(option("output").spelling(), "--no-output");
  EXPECT_EQ(option("run").spelling(), "-o,--output");
  EXPECT_EQ(option("special").spelling(), "--no-special");
}

TEST_F(CaptureRequestTest, OptionsSetTheFields) {
  option("what").set_words({"scores"});
  option("dtype").set_words({"f16"});
  option("queries").set_words({"2-4"});
  option("output").set_value(false);
  option("ablate").set_words({"L0H1,1.2", "L0H1"});
  option("ablation").set_words({"mean"});
  EXPECT_EQ(request_.what, std::vector{MapKind::kScores});
  EXPECT_EQ(request_.dtype, RunFloat::kF16);
  EXPECT_EQ(request_.queries, (IndexRange{2, 5}));
  EXPECT_FALSE(request_.with_output);
  EXPECT_EQ(request_.ablated, (std::vector<HeadId>{{0, 1}, {1, 2}}));
  EXPECT_EQ(request_.ablation, Ablation::kMean);
  EXPECT_THAT(options_.words(), testing::IsSupersetOf({"--what", "scores", "--queries", "2-4", "--no-output",
                                                       "--ablate", "L0H1,L1H2", "--ablation", "mean"}));
}

TEST_F(CaptureRequestTest, WrongValuesAreNamedWithWhatIsExpected) {
  const auto expect = [&](const std::string& name, const std::string& word, const std::string& message) {
    EXPECT_ERROR(option(name).set_words({word}), ErrorKind::kInvalidArgument, message);
  };
  expect("what", "maps", "--what: unknown value 'maps'; expected one of pattern, scores");
  expect("dtype", "f64", "--dtype: unknown value 'f64'; expected one of f32, f16");
  expect("queries", "5-3", "--queries: expected an index or a range such as 3-5, found '5-3'");
  expect("queries", "x\ny", "--queries: expected an index or a range such as 3-5, found 'x\\x0ay'");
  expect("ablate", "seven", "--ablate: expected a head such as L4H7, found 'seven'");
  expect("memory", "much", "--memory: expected a size such as 8G");
}

TEST_F(CaptureRequestTest, GivesTheSameBytesInMemoryAndOnDisk) {
  request_.inputs.in_memory.push_back(test::some_tokens(3, TinyLlama::kVocabulary, 2));
  request_.ablated = {{1, 2}};
  for (const RunFloat dtype : {RunFloat::kF32, RunFloat::kF16}) {
    request_.dtype = dtype;
    const CaptureOutcome held = run(request_).value();
    CaptureRequest request = on_disk();
    request.output.force = true;
    const CaptureOutcome written = run(request).value();
    EXPECT_TRUE(held.files.folder.empty());
    EXPECT_EQ(held.files.names, written.files.names);
    EXPECT_THAT(held.files.names, testing::Contains("inputs/1/pattern.npy"));
    EXPECT_EQ(bytes_of(held.files), bytes_of(written.files));
    EXPECT_EQ(held.result.bytes, written.result.bytes);
  }
}

TEST_F(CaptureRequestTest, KeepsOnlyWhatWasRequested) {
  request_.what = {};
  EXPECT_THAT(run(request_).value().files.names, testing::ElementsAre("output.npy", "tokens.json"));
  request_.what = {MapKind::kPattern};
  request_.with_output = false;
  request_.selection.layers = {1};
  request_.queries = IndexRange{2, 4};
  const CaptureOutcome outcome = run(request_).value();
  EXPECT_THAT(outcome.files.names, testing::ElementsAre("pattern.npy", "tokens.json", "attention.csv"));
  EXPECT_EQ(outcome.result.heads.size(), TinyLlama::kHeads);
  EXPECT_EQ(outcome.result.inputs[0].queries, 2U);
  EXPECT_EQ(outcome.files.memory->files[0].file.shape, (Shape{TinyLlama::kHeads, 2, 7}));
}

TEST_F(CaptureRequestTest, MeasuresTheSameEffectAsTheMeter) {
  request_.ablated = {{0, 1}, {1, 2}};
  const CaptureOutcome outcome = run(request_).value();
  ASSERT_TRUE(outcome.ablation);
  const Model& model = *request_.model.opened;
  const Effect effect = EffectMeter(model, request_.inputs.in_memory).measure(zero_ablation(model, request_.ablated));
  EXPECT_EQ(outcome.ablation->effect.kl, effect.kl);
  EXPECT_EQ(outcome.ablation->effect.after.loss, effect.after.loss);
  EXPECT_THAT(summary(outcome), testing::HasSubstr("Without L0H1, L1H2: loss "));
  EXPECT_THAT(bytes_of(outcome.files).at("effect.csv"), testing::HasSubstr("\nL0H1 L1H2,zero,"));
}

TEST_F(CaptureRequestTest, TheManifestHasWhatDeterminesTheResult) {
  request_.dtype = RunFloat::kF16;
  const RunCommand command = run(request_).value().files.memory->command;
  EXPECT_EQ(command.name, "capture");
  EXPECT_EQ(command.identity.at("dtype"), "f16");
  EXPECT_EQ(command.identity.at("what"), "pattern,scores");
  EXPECT_EQ(command.identity.count("contents"), 1U);
  EXPECT_EQ(command.identity.count("memory"), 0U);
  EXPECT_EQ(command.circumstances.at("memory"), "8G");
  request_.inputs.in_memory = {test::some_tokens(7, TinyLlama::kVocabulary, 2)};
  EXPECT_NE(run(request_).value().files.memory->command.identity, command.identity);
}

TEST_F(CaptureRequestTest, JsonHasTheFolderOnlyIfThereIsOne) {
  const auto held = nlohmann::json::parse(to_json(run(request_).value()));
  EXPECT_FALSE(held.contains("run"));
  EXPECT_EQ(held["heads"].size(), 8U);
  EXPECT_EQ(held["inputs"][0]["tokens"], 7);
  EXPECT_EQ(held["inputs"][0]["likeliest"].size(), 5U);
  const auto written = nlohmann::json::parse(to_json(run(on_disk()).value()));
  EXPECT_EQ(written["run"], (folder_.path() / "run").string());
  EXPECT_EQ(written["files"], held["files"]);
  EXPECT_EQ(written["bytes"], held["bytes"]);
}

TEST_F(CaptureRequestTest, ACancelledRequestLeavesNothing) {
  Context context;
  std::size_t reports = 0;
  context.on_progress = [&](std::string_view stage, double) {
    EXPECT_EQ(stage, "running the model");
    if (++reports == 2) throw Cancelled();
  };
  EXPECT_THROW(static_cast<void>(run(on_disk(), context)), Cancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run"));
}

TEST_F(CaptureRequestTest, NeedsAnInput) {
  request_.inputs.in_memory.clear();
  EXPECT_ERROR(run(request_), ErrorKind::kInvalidArgument, "nothing to run the model on");
}

}  // namespace
}  // namespace headscope
