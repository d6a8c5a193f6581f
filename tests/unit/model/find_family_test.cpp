#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "support/expect_error.h"
#include "support/gguf_bytes.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::SafetensorsWriter;
using test::TemporaryFolder;
using test::TinyGpt2;

TEST(FindFamily, ChoosesTheFamilyByClassNameOrByNamesThatFitOneAlone) {
  TinyGpt2 tiny;
  for (const char* config : {R"({"architectures": ["GPT2LMHeadModel"], "n_head": 2})", R"({"n_head": 2})"}) {
    tiny.config = config;
    const TemporaryFolder folder;
    tiny.write(folder);
    EXPECT_EQ(Model::open(folder.path()).info().family, "gpt2") << config;
  }
}

TEST(FindFamily, AcceptsAPrefixItHasNeverSeenIfItIsTheOnlyOne) {
  TinyGpt2 tiny;
  std::map<std::string, Shape> renamed;
  for (const auto& [name, shape] : tiny.shapes) renamed["wrapped.model." + name] = shape;
  tiny.shapes = renamed;
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_TRUE(Model::open(folder.path()).info().missing.empty());
}

TEST(FindFamily, ListsAttentionLookingTensorsOfAnUnknownFamily) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "mamba\n2"})");
  folder.write("model.safetensors", SafetensorsWriter()
                                        .add("backbone.layers.0.mixer.q_proj.weight", {8, 4})
                                        .add("backbone.layers.1.mixer.q_proj.weight", {8, 4})
                                        .add("backbone.layers.0.mlp.weight", {8, 4})
                                        .str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "model_type 'mamba\\x0a2' is unknown");
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported,
               "tensors that look like attention: backbone.layers.{i}.mixer.q_proj.weight [8, 4]");
}

TEST(FindFamily, NamesTheFamiliesThatFitAnUnknownOne) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt3", "n_embd": 4, "n_layer": 2, "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_ERROR(
      Model::open(folder.path()), ErrorKind::kUnsupported,
      "config.json: model_type 'gpt3' is unknown; its tensors match gpt2; try --family gpt2; tensors that look "
      "like attention: transformer.h.{i}.attn.c_attn.weight [4, 12]");
}

TEST(FindFamily, OrdersTheFamiliesThatFitByHowManyTensorsTheyName) {
  const std::filesystem::path golden = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/checkpoints";
  struct Case {
    std::string checkpoint;
    std::string model_type;
    std::string message;
  };
  for (const auto& [checkpoint, model_type, message] : std::vector<Case>{
           {"roberta", "my-roberta", "its tensors match roberta; try --family roberta; tensors"},
           {"bert", "bort", "its tensors match bert; try --family bert; tensors"},
           {"llama", "minicpm9", "try --family llama; tensors"},
           {"llama", "smollm3-next", "try --family smollm3; tensors"},
           {"mistral", "my-mistral", "try --family mistral; tensors"},
           {"vit_new", "dino_vit", "try --family vit; tensors"},
       }) {
    const TemporaryFolder folder;
    std::ifstream config(golden / checkpoint / "config.json");
    nlohmann::json json = nlohmann::json::parse(config);
    json["model_type"] = model_type;
    folder.write("config.json", json.dump());
    std::filesystem::copy(golden / checkpoint / "model.safetensors", folder.path() / "model.safetensors");
    EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, message);
  }
}

TEST(FindFamily, PrefersTheFamilyWhoseNameIsPartOfTheUnknownOne) {
  // Without the prefix 'roberta.' and the head of its language model, RoBERTa's names are BERT's.
  const std::filesystem::path golden = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/roberta";
  std::ostringstream text;
  text << std::ifstream(golden / "model.safetensors", std::ios::binary).rdbuf();
  std::string bytes = text.str();
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  std::string header = bytes.substr(sizeof header_size, header_size);
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = header.find(from); at != std::string::npos; at = header.find(from)) {
      header.replace(at, from.size(), to);
    }
  };
  replace("roberta.", "");
  replace("lm_head.", "other.");
  header.resize(header_size, ' ');
  bytes.replace(sizeof header_size, header_size, header);
  const TemporaryFolder folder;
  folder.write("model.safetensors", bytes);
  folder.write("config.json", R"({"model_type": "my-roberta"})");
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported,
               "model_type 'my-roberta' is unknown; its tensors match roberta, bert, electra; try --family roberta");
}

TEST(FindFamily, ReadsAnUnknownFamilyAsAKnownOne) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt3", "n_embd": 4, "n_layer": 2, "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path(), {.revision = "", .family = "gpt2"});
  EXPECT_EQ(model.info().family, "gpt2");
  EXPECT_TRUE(model.info().family_overridden);
  EXPECT_THAT(model.info().notes, testing::Contains("family gpt2 as requested, not as stated in config.json"));
  EXPECT_ERROR(Model::open(folder.path(), {.revision = "", .family = "llama"}), ErrorKind::kUnsupported,
               "config.json: was requested as family llama, but there is no");
  EXPECT_ERROR(Model::open(folder.path(), {.revision = "", .family = "gpt\n3"}), ErrorKind::kInvalidArgument,
               "unknown family 'gpt\\x0a3'; expected one of ");
}

TEST(FindFamily, AFamilyThatTheFilesNameThemselvesIsNotOverridden) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  EXPECT_FALSE(Model::open(folder.path(), {.revision = "", .family = "gpt2"}).info().family_overridden);
  EXPECT_FALSE(Model::open(folder.path()).info().family_overridden);
}

TEST(FindFamily, ReadsAGgufOfAnUnknownArchitectureAsAKnownOne) {
  const std::string matrix(16 * 4, '\0');
  const auto gguf = [&](const std::string& architecture) {
    test::GgufBytes bytes;
    bytes.add_string("general.architecture", architecture)
        .add_u32(architecture + ".block_count", 1)
        .add_u32(architecture + ".attention.head_count", 2);
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      bytes.add_tensor("blk.0." + std::string(name) + ".weight", {4, 4}, 0, matrix);
    }
    for (const char* name : {"blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"}) {
      bytes.add_tensor(std::string(name) + ".weight", {4, 4}, 0, matrix);
    }
    for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"}) {
      bytes.add_tensor(std::string(name) + ".weight", {4}, 0, std::string(16, '\0'));
    }
    return bytes.str();
  };
  const TemporaryFolder folder;
  const auto file = folder.write("m.gguf", gguf("newllama"));
  EXPECT_ERROR(Model::open(file), ErrorKind::kUnsupported,
               "m.gguf: general.architecture 'newllama' is unknown; its tensors match llama");
  const Model model = Model::open(file, {.revision = "", .family = "llama"});
  EXPECT_EQ(model.info().family, "llama");
  EXPECT_EQ(model.info().sizes.heads, 2u);  // from newllama.attention.head_count
  EXPECT_ERROR(Model::open(file, {.revision = "", .family = "vit"}), ErrorKind::kUnsupported,
               "was requested as family vit, which headscope does not read from GGUF; its tensors match llama");
}

TEST(FindFamily, AsksForTheFamilyWhereNamesFitSeveral) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    writer.add("model.layers.0.self_attn." + std::string(name) + ".weight", {4, 4});
  }
  for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
    writer.add("model.layers.0.mlp." + std::string(name) + ".weight", {4, 4});
  }
  for (const char* name : {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"}) {
    writer.add("model." + std::string(name) + ".weight", {4});
  }
  folder.write("config.json", "{}");
  folder.write("model.safetensors", writer.str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "names match llama, ");
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "add \"model_type\" to it, or try --family");
}

TEST(FindFamily, PrefersTheImageTowerOfClip) {
  SafetensorsWriter writer;
  for (const std::string tower : {"text_model.", "vision_model."}) {
    const Shape shape = tower == "text_model." ? Shape{6, 6} : Shape{4, 4};
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      writer.add(tower + "encoder.layers.0.self_attn." + name + ".weight", shape);
    }
    writer.add(tower + "encoder.layers.0.layer_norm1.weight", {shape[0]});
  }
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "clip", "vision_config": {"num_attention_heads": 2}})");
  folder.write("model.safetensors", writer.str());
  EXPECT_EQ(Model::open(folder.path()).info().sizes.d_model, 4u);
}

TEST(FindFamily, RefusesClipsTextTowerAlone) {
  SafetensorsWriter writer;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
    writer.add("text_model.encoder.layers.0.self_attn." + std::string(name) + ".weight", {4, 4});
  }
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "clip", "vision_config": {"num_attention_heads": 2}})");
  folder.write("model.safetensors", writer.str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "says family clip_vision, but there is no");
}

TEST(FindFamily, SaysWhichTensorOfItsFamilyIsNotThere) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("model.safetensors", SafetensorsWriter()
                                        .add("model.layers.0.self_attn.o_proj.weight", {4, 4})
                                        .add("model.layers.0.self_attn.qkv_proj.weight", {12, 4})
                                        .str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported,
               "there is no 'model.layers.{i}.self_attn.q_proj.weight'");
}

TEST(FindFamily, RefusesTimmModelsOfAnotherKind) {
  for (const char* architecture :
       {"vit_base_patch16_dinov3", "vit_medium_patch16_rope_reg1_gap_256", "vit_relpos_rpn"}) {
    const TemporaryFolder folder;
    folder.write("config.json", R"({"architecture": ")" + std::string(architecture) + "\"}");
    folder.write("model.safetensors", SafetensorsWriter()
                                          .add("blocks.0.attn.qkv.weight", {36, 12})
                                          .add("blocks.0.attn.proj.weight", {12, 12})
                                          .add("blocks.0.norm1.weight", {12})
                                          .str());
    EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "is not a plain ViT");
  }
}

TEST(FindFamily, KnowsTimmsHeadsByArchitecture) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"architecture": "vit_tiny_patch16_224"})");
  folder.write("model.safetensors", SafetensorsWriter()
                                        .add("blocks.0.attn.qkv.weight", {36, 12})
                                        .add("blocks.0.attn.proj.weight", {12, 12})
                                        .add("blocks.0.norm1.weight", {12})
                                        .str());
  const ModelInfo info = Model::open(folder.path()).info();
  EXPECT_EQ(info.family, "timm_vit");
  EXPECT_EQ(info.sizes.heads, 3u);
}

}  // namespace
}  // namespace headscope
