// Models with several transformers: which one is opened.

#include "model/towers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/readiness.h"
#include "support/changed_case.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

using Names = std::vector<std::string>;

const std::filesystem::path kTowers = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/towers";

ModelInfo opened(const std::string& name, const std::string& tower = {}) {
  return Model::open(kTowers / name, {.tower = tower}).info();
}

TEST(Towers, ALanguageModelIsItsTextTowerUnlessTheOtherIsNamed) {
  const ModelInfo text = opened("llava");
  EXPECT_EQ(text.family, "llama");
  EXPECT_EQ(text.tower, "text");
  EXPECT_FALSE(text.tower_requested);
  EXPECT_EQ(text.other_towers, Names{"vision"});
  EXPECT_EQ(text.unembedding, "language_model.lm_head.weight");
  const ModelInfo vision = opened("llava", "vision");
  EXPECT_EQ(vision.family, "clip_vision");
  EXPECT_TRUE(vision.tower_requested);
  EXPECT_EQ(vision.other_towers, Names{"text"});
}

TEST(Towers, AModelLikeClipIsItsImageTowerUnlessTheOtherIsNamed) {
  EXPECT_EQ(opened("clip_both").family, "clip_vision");
  EXPECT_EQ(opened("clip_both", "text").family, "clip_text");
  EXPECT_EQ(opened("siglip").family, "siglip_vision");
  EXPECT_EQ(opened("siglip", "text").family, "siglip_text");
}

TEST(Towers, TheTextTowerOfAMixtureIsTheDefaultToo) {
  EXPECT_EQ(opened("qwen3_vl_moe").family, "qwen3_vl_moe");
}

TEST(Towers, EachIsOfTheFamilyThatItsOwnModelTypeNames) {
  EXPECT_EQ(opened("mistral3").family, "mistral");
  EXPECT_EQ(opened("mistral3", "vision").family, "pixtral");
  EXPECT_EQ(opened("paligemma").family, "gemma");
  EXPECT_EQ(opened("gemma3_both", "vision").family, "siglip_vision");
  EXPECT_EQ(opened("qwen2_vl").family, "qwen2");
  EXPECT_EQ(opened("qwen2_vl", "vision").family, "qwen2_vl_vision");
}

TEST(Towers, AModelWithoutSeveralTakesTheNameOfItsInput) {
  EXPECT_EQ(opened("dinov3", "vision").tower, "");
  EXPECT_EQ(opened("dinov3", "vision").tower_requested, false);
  EXPECT_ERROR(opened("dinov3", "text"), ErrorKind::kInvalidArgument, "so it has no text tower");
  EXPECT_ERROR(opened("dinov3", "stage1"), ErrorKind::kInvalidArgument, "dinov3 has no stages");
  EXPECT_ERROR(opened("llava", "audio"), ErrorKind::kInvalidArgument, "unknown tower 'audio'");
}

// Earlier files of GLM-4V call its image tower "glm4v", or nothing.
TEST(Towers, GlmsImageTowerMayHaveTheNameOfTheWholeModel) {
  for (const char* named : {"glm4v", "absent"}) {
    const test::TemporaryFolder folder;
    std::filesystem::copy_file(kTowers / "glm4v/model.safetensors", folder.path() / "model.safetensors");
    nlohmann::json vision = nlohmann::json::parse(test::read(kTowers / "glm4v/config.json"))["vision_config"];
    vision["model_type"] = named;
    if (named == std::string("absent")) vision.erase("model_type");
    test::write_config(folder, kTowers / "glm4v", {{"vision_config", vision}});
    const Model model = Model::open(folder.path());
    EXPECT_EQ(model.info().family, "glm4");
    EXPECT_EQ(model.info().tower, "text");
    EXPECT_EQ(model.info().other_towers, Names{"vision"});
    EXPECT_EQ(model.of_tower("vision").info().family, "glm4v_vision");
  }
}

TEST(Towers, AnUnknownImageTowerIsNotTakenForAFamilyOfText) {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(kTowers / "llava/model.safetensors", folder.path() / "model.safetensors");
  nlohmann::json vision = nlohmann::json::parse(test::read(kTowers / "llava/config.json"))["vision_config"];
  vision["model_type"] = "llama5";
  test::write_config(folder, kTowers / "llava", {{"vision_config", vision}});
  try {
    static_cast<void>(Model::open(folder.path(), {.tower = "vision"}));
    FAIL() << "opened";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("model_type 'llama5' of the vision tower is unknown"), std::string::npos) << said;
    EXPECT_EQ(said.find("--family llama"), std::string::npos) << said;
    EXPECT_EQ(said.find("nearest known is llama"), std::string::npos) << said;
  }
}

TEST(Towers, OnlyTowersWhoseTensorsAreThereCountAsOthers) {
  EXPECT_EQ(opened("siglip_classifier").other_towers, Names{});  // its configuration describes a text tower, too
}

TEST(Towers, StagesOfSwinAreTowersTheLongestBeingTheDefault) {
  const ModelInfo longest = opened("swin");
  EXPECT_EQ(longest.tower, "stage2");
  EXPECT_EQ(longest.other_towers, Names{"stage1"});
  EXPECT_EQ(longest.sizes.d_model, 8U);
  EXPECT_EQ(longest.sizes.heads, 2U);
  const ModelInfo first = opened("swin", "stage1");
  EXPECT_EQ(first.sizes.layers, 2U);
  EXPECT_EQ(first.sizes.d_model, 4U);
  EXPECT_ERROR(opened("swin", "stage3"), ErrorKind::kUnsupported, "there is no stage 3");
}

TEST(Towers, AModelOpensAnotherStageOfItsFiles) {
  const Model last = Model::open(kTowers / "swin", {.tower = "stage2"});
  const Model first = last.of_tower("stage1");
  EXPECT_EQ(first.info().sizes.d_model, 4U);
  EXPECT_EQ(&first.checkpoint(), &last.checkpoint());
}

TEST(Towers, WithWindowsOfPatchesAreReadyForAllCommands) {
  for (const char* name : {"qwen2_5_vl", "swin"}) {
    for (const Readiness& one : readiness(Model::open(kTowers / name, {.tower = name[0] == 'q' ? "vision" : ""}))) {
      EXPECT_TRUE(one.ready) << name << ' ' << one.command << ": " << one.reason;
    }
  }
}

TEST(Towers, PrefixesOfAnotherTowerAreRecognized) {
  EXPECT_TRUE(names_other_tower("model.language_model.", Modality::kImage));
  EXPECT_TRUE(names_other_tower("vision_tower.vision_model.", Modality::kText));
  EXPECT_TRUE(names_other_tower("model.visual.", Modality::kText));
  EXPECT_TRUE(names_other_tower("model.connector.perceiver_resampler.", Modality::kText));
  EXPECT_FALSE(names_other_tower("model.", Modality::kText));
  EXPECT_FALSE(names_other_tower("vision_model.", Modality::kImage));
}

TEST(Towers, EnclosingPrefixesEndWithTheEmptyOne) {
  EXPECT_EQ(enclosing_prefixes("a.b."), (std::vector<std::string_view>{"a.b.", "a.", ""}));
  EXPECT_EQ(enclosing_prefixes(""), std::vector<std::string_view>{""});
}

}  // namespace
}  // namespace headscope
