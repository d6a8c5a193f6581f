#include "headscope/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/model/readiness.h"
#include "support/expect_error.h"
#include "support/gguf_bytes.h"
#include "support/hub_cache.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::SafetensorsWriter;
using test::TemporaryFolder;
using test::TinyGpt2;

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(Model, ReadsGpt2sConv1dWithoutTransposingTwice) {
  TinyGpt2 tiny;
  tiny.values["transformer.h.0.attn.c_attn.weight"] = counting(48);
  tiny.values["transformer.h.0.attn.c_proj.weight"] = counting(16);
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  // Row 2, K block (columns 4 to 7), head 1, component 1: 2 * 12 + 4 + 2 + 1.
  EXPECT_EQ(model.load_heads(0, Role::kK, WeightProcessing::kRaw).head(1)(2, 1), 31);
  // Head 1 is rows 2 and 3; channel 3 of its component 1 is element (3, 3).
  EXPECT_EQ(model.load_heads(0, Role::kO, WeightProcessing::kRaw).head(1)(3, 1), 15);
}

TEST(Model, GivesTheSameWeightsInTilesOnAnyNumberOfThreads) {
  const std::size_t d = 300;  // not a multiple of a tile
  SafetensorsWriter writer;
  std::vector<float> values(d * 3 * d);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  writer.add("h.0.attn.c_attn.weight", {d, 3 * d}, values);
  values.resize(d * d);
  writer.add("h.0.attn.c_proj.weight", {d, d}, values).add("h.0.ln_1.weight", {d}, std::vector<float>(d, 2));
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gpt2", "n_head": 3})");
  folder.write("model.safetensors", writer.str());
  const Model model = Model::open(folder.path());
  for (const Role role : kRoles) {
    // Every element, against the index arithmetic of Conv1D written out; the gain is 2 and the mean is left in by
    // `raw`.
    const HeadWeights raw = model.load_heads(0, role, WeightProcessing::kRaw);
    for (std::size_t head = 0; head < 3; ++head) {
      for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d / 3; ++j) {
          const std::size_t component = head * (d / 3) + j;
          const std::size_t index =
              role == Role::kO ? component * d + i : i * 3 * d + static_cast<std::size_t>(role) * d + component;
          ASSERT_EQ(raw.head(head)(i, j), std::sin(static_cast<float>(index)));
        }
      }
    }
    set_thread_count(1);
    const HeadWeights one = model.load_heads(0, role);
    set_thread_count(5);
    const HeadWeights five = model.load_heads(0, role);
    set_thread_count(0);
    EXPECT_TRUE(std::equal(one.values().begin(), one.values().end(), five.values().begin(), five.values().end()));
  }
}

TEST(Model, TakesSizesFromTheTensorsWhereTheConfigIsSilent) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  EXPECT_EQ(model.info().sizes, (HeadSizes{.layers = 2, .heads = 2, .kv_heads = 2, .d_model = 4, .d_head = 2}));
  EXPECT_FALSE(model.info().notes.empty());
}

TEST(Model, TakesHeadWidthFromTheNormOfQueries) {
  // As in Gemma 3's multimodal files, whose text_config leaves out heads, KV heads and head_dim.
  SafetensorsWriter writer;
  const std::string layer = "language_model.model.layers.0.";
  writer.add(layer + "self_attn.q_proj.weight", {12, 8}).add(layer + "self_attn.k_proj.weight", {6, 8});
  writer.add(layer + "self_attn.v_proj.weight", {6, 8}).add(layer + "self_attn.o_proj.weight", {8, 12});
  writer.add(layer + "self_attn.q_norm.weight", {3}).add(layer + "input_layernorm.weight", {8});
  writer.add(layer + "post_attention_layernorm.weight", {8});
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gemma3", "text_config": {"hidden_size": 8, "num_hidden_layers": 1}})");
  folder.write("model.safetensors", writer.str());
  EXPECT_EQ(Model::open(folder.path()).info().sizes,
            (HeadSizes{.layers = 1, .heads = 4, .kv_heads = 2, .d_model = 8, .d_head = 3}));
}

TEST(Model, ChoosesTheFamilyByClassNameOrByNamesThatFitOneAlone) {
  TinyGpt2 tiny;
  for (const char* config : {R"({"architectures": ["GPT2LMHeadModel"], "n_head": 2})", R"({"n_head": 2})"}) {
    tiny.config = config;
    const TemporaryFolder folder;
    tiny.write(folder);
    EXPECT_EQ(Model::open(folder.path()).info().family, "gpt2") << config;
  }
}

TEST(Model, AcceptsAPrefixItHasNeverSeenIfItIsTheOnlyOne) {
  TinyGpt2 tiny;
  std::map<std::string, Shape> renamed;
  for (const auto& [name, shape] : tiny.shapes) renamed["wrapped.model." + name] = shape;
  tiny.shapes = renamed;
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_TRUE(Model::open(folder.path()).info().missing.empty());
}

TEST(Model, IgnoresMaskBuffersAndListsThem) {
  TinyGpt2 tiny;
  tiny.shapes["transformer.h.0.attn.bias"] = {1, 1, 8, 8};
  tiny.shapes["transformer.h.0.attn.masked_bias"] = {};
  const TemporaryFolder folder;
  tiny.write(folder);
  const ModelInfo info = Model::open(folder.path()).info();
  EXPECT_EQ(info.ignored, (std::vector<std::string>{"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"}));
  EXPECT_EQ(info.biases, (std::array<bool, 4>{}));
}

TEST(Model, ListsMissingTensorsAndRefusesToLoadTheirLayer) {
  TinyGpt2 tiny;
  tiny.shapes.erase("transformer.h.1.attn.c_attn.weight");
  tiny.shapes.erase("transformer.h.0.ln_1.weight");
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  EXPECT_EQ(model.info().missing,
            (std::vector<std::string>{"transformer.h.0.ln_1.weight", "transformer.h.1.attn.c_attn.weight"}));
  EXPECT_ERROR(model.load_heads(1, Role::kV), ErrorKind::kFormat, "transformer.h.1.attn.c_attn.weight");
  EXPECT_ERROR(model.load_heads(0, Role::kQ), ErrorKind::kFormat, "transformer.h.0.ln_1.weight");
  EXPECT_NO_THROW((void)model.load_heads(0, Role::kQ, WeightProcessing::kRaw));
  EXPECT_FALSE(readiness(model).at(1).ready);
}

TEST(Model, RefusesToLoadOWithoutTheScaleItsFamilyHas) {
  SafetensorsWriter writer;
  const std::string layer = "encoder.layer.0.";
  for (const char* name : {"attention.query", "attention.key", "attention.value", "output.dense"}) {
    writer.add(layer + "attention." + name + ".weight", {4, 4});
  }
  writer.add(layer + "norm1.weight", {4});
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "dinov2", "num_attention_heads": 2})");
  folder.write("model.safetensors", writer.str());
  const Model model = Model::open(folder.path());
  EXPECT_NO_THROW((void)model.load_heads(0, Role::kQ));
  EXPECT_ERROR(model.load_heads(0, Role::kO, WeightProcessing::kRaw), ErrorKind::kFormat,
               "layer 0 lacks tensor 'encoder.layer.0.layer_scale1.lambda1'");
}

TEST(Model, PrefersTheDefaultWidthOfAHeadToTheDefaultNumber) {
  // Gemma 2 9B's O, with a config that says nothing: 16 heads of 256, not 8 of 512.
  SafetensorsWriter writer;
  const std::string layer = "model.layers.0.";
  writer.add(layer + "self_attn.q_proj.weight", {4096, 2}).add(layer + "self_attn.k_proj.weight", {2048, 2});
  writer.add(layer + "self_attn.v_proj.weight", {2048, 2}).add(layer + "self_attn.o_proj.weight", {2, 4096});
  writer.add(layer + "input_layernorm.weight", {2}).add(layer + "post_attention_layernorm.weight", {2});
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gemma2"})");
  folder.write("model.safetensors", writer.str());
  EXPECT_EQ(Model::open(folder.path()).info().sizes,
            (HeadSizes{.layers = 1, .heads = 16, .kv_heads = 8, .d_model = 2, .d_head = 256}));
}

TEST(Model, NotesLayersThatTheConfigLeavesOut) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_embd": 4, "n_layer": 1, "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  const ModelInfo info = Model::open(folder.path()).info();
  EXPECT_EQ(info.sizes.layers, 1u);
  ASSERT_EQ(info.notes.size(), 1u);
  EXPECT_THAT(info.notes[0], testing::HasSubstr("the file has 2 layers, but the configuration 1"));
}

TEST(Model, DoesNotBelieveALayerNumberThatTheFileCannotHold) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_head": 2})";
  tiny.shapes["transformer.h.99999.attn.c_proj.weight"] = {4, 4};
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kFormat, "count 100000 layers, but the checkpoint has only");
}

TEST(Model, NamesTheTensorOfTheWrongShape) {
  TinyGpt2 tiny;
  tiny.shapes["transformer.h.1.attn.c_attn.weight"] = {4, 11};
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kFormat,
               "model.safetensors: tensor 'transformer.h.1.attn.c_attn.weight' is [4, 11], expected [4, 12]");
}

TEST(Model, NamesTheFirstNonFiniteWeightWithItsIndex) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    TinyGpt2 tiny;
    std::vector<float> values(48);
    values[29] = values[41] = bad;  // row 2, column 5: K; row 3, column 5
    tiny.values["transformer.h.0.attn.c_attn.weight"] = values;
    const TemporaryFolder folder;
    tiny.write(folder);
    const Model model = Model::open(folder.path());
    EXPECT_ERROR(model.load_heads(0, Role::kK), ErrorKind::kNumeric,
                 "tensor 'transformer.h.0.attn.c_attn.weight' holds NaN or Inf at index [2, 5]");
  }
}

TEST(Model, RefusesALayerThatIsNotThere) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  EXPECT_ERROR(Model::open(folder.path()).load_heads(2, Role::kQ), ErrorKind::kInvalidArgument, "the model has 2");
}

TEST(Model, RefusesSizesThatMakeNoSense) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {R"({"model_type": "gpt2", "n_head": "two"})",
       "'n_head' is not an integer, expected an integer from 1 to 1000000000"},
      {R"({"model_type": "gpt2", "n_head": 0})", "'n_head' is 0, expected an integer from 1"},
      {R"({"model_type": "gpt2", "n_head": 3})", "3 heads, but O reads 4 components"},
      {R"({"model_type": "gpt2", "n_head": 2, "n_layer": 900000000})", "says 900000000 layers, but the checkpoint has"},
      {R"({"model_type": "gpt2"})", "has neither the number of heads ('n_head')"},
      {R"({"model_type": "gpt2", "n_head": 2, "n_embd": 5})", "expected [5, 12]"},
      {R"({"model_type": "gpt2", "n_head": 1, "num_key_value_heads": 2, "head_dim": 4})",
       "expected a divisor of the number of heads"},
  };
  for (const auto& [config, message] : table) {
    TinyGpt2 tiny;
    tiny.config = config;
    const TemporaryFolder folder;
    tiny.write(folder);
    EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kFormat, message);
  }
}

TEST(Model, ListsAttentionLookingTensorsOfAnUnknownFamily) {
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

TEST(Model, NamesTheFamiliesThatFitAnUnknownOne) {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt3", "n_embd": 4, "n_layer": 2, "n_head": 2})";
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_ERROR(
      Model::open(folder.path()), ErrorKind::kUnsupported,
      "config.json: model_type 'gpt3' is unknown; its tensors match gpt2; try --family gpt2; tensors that look "
      "like attention: transformer.h.{i}.attn.c_attn.weight [4, 12]");
}

TEST(Model, OrdersTheFamiliesThatFitByHowManyTensorsTheyName) {
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

TEST(Model, PrefersTheFamilyWhoseNameIsPartOfTheUnknownOne) {
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

TEST(Model, ReadsAnUnknownFamilyAsAKnownOne) {
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

TEST(Model, AFamilyThatTheFilesNameThemselvesIsNotOverridden) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  EXPECT_FALSE(Model::open(folder.path(), {.revision = "", .family = "gpt2"}).info().family_overridden);
  EXPECT_FALSE(Model::open(folder.path()).info().family_overridden);
}

TEST(Model, ReadsAGgufOfAnUnknownArchitectureAsAKnownOne) {
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

TEST(Model, IgnoresLayersOfAGgufThatPredictFurtherTokens) {
  const auto open = [](std::uint32_t further) {
    const std::string matrix(16 * 4, '\0');
    test::GgufBytes bytes;
    bytes.add_string("general.architecture", "llama")
        .add_u32("llama.block_count", 3)
        .add_u32("llama.attention.head_count", 2)
        .add_u32("llama.nextn_predict_layers", further);
    for (const std::string layer : {"0", "1", "2"}) {
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
        bytes.add_tensor("blk." + layer + "." + name + ".weight", {4, 4}, 0, matrix);
      }
    }
    const TemporaryFolder folder;
    return Model::open(folder.write("m.gguf", bytes.str())).info();
  };
  EXPECT_EQ(open(0).sizes.layers, 3u);
  EXPECT_EQ(open(1).sizes.layers, 2u);
  EXPECT_THAT(open(1).notes, testing::Contains(testing::HasSubstr("has 3 layers, but the configuration 2")));
  EXPECT_ERROR(open(3), ErrorKind::kFormat, "'llama.nextn_predict_layers' is not a number below that of all layers, 3");
}

TEST(Model, OpensWhatTheCacheHolds) {
  const TinyGpt2 tiny;
  const test::HubCache cache;
  cache.add("me/tiny", {{"config.json", tiny.config}, {"model.safetensors", tiny.safetensors()}}, "v1");
  const Model model = Model::open("tiny", {.revision = "v1", .family = ""});
  EXPECT_EQ(model.checkpoint().location().repository, "me/tiny");
  EXPECT_EQ(model.checkpoint().path(), cache.snapshot("me/tiny"));
  EXPECT_EQ(model.load_heads(1, Role::kO).heads(), 2u);
}

TEST(Model, AsksForTheFamilyWhereNamesFitSeveral) {
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

TEST(Model, NamesQuantizationsItDoesNotDecode) {
  struct Case {
    std::string config;
    std::string tensor;
    std::string method;
  };
  const std::vector<Case> table = {
      {R"({"model_type": "llama", "quantization_config": {"quant_method": "hqq"}})", "x", "quantized with hqq"},
      {R"({"model_type": "llama", "quantization_config": {"quant_method": "eetq"}})", "x", "quantized with eetq"},
      {R"({"model_type": "llama"})", "model.layers.0.self_attn.q_proj.W_q", "quantized with HQQ"},
      {R"({"model_type": "llama"})", "model.layers.0.self_attn.q_proj.g_idx", "quantized with GPTQ"},
      {R"({"model_type": "llama"})", "model.layers.0.self_attn.q_proj.qweight", "quantized with AWQ or GPTQ"},
      {R"({"model_type": "llama"})", "model.layers.0.self_attn.q_proj.weight.absmax", "bitsandbytes (4-bit)"},
      {R"({"model_type": "llama"})", "model.layers.0.self_attn.q_proj.weight_packed", "compressed-tensors"},
  };
  for (const Case& quantized : table) {
    const TemporaryFolder folder;
    folder.write("config.json", quantized.config);
    folder.write("model.safetensors", SafetensorsWriter().add(quantized.tensor, {4}).str());
    EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, quantized.method);
  }
}

TEST(Model, RefusesWeightsStoredAsIntegers) {
  TinyGpt2 tiny;
  tiny.shapes.erase("transformer.h.0.attn.c_proj.weight");
  SafetensorsWriter writer;
  for (const auto& [name, shape] : tiny.shapes) writer.add(name, shape);
  writer.add_raw("transformer.h.0.attn.c_proj.weight", "I8", {4, 4}, std::string(16, '\0'));
  const TemporaryFolder folder;
  folder.write("config.json", tiny.config);
  folder.write("model.safetensors", writer.str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "is stored as I8, which headscope does not decode");
}

// A LLaMA of one head whose q_proj is FP8 with the given scale tensor; all codes are 0x38, which is 1.0 in E4M3.
void write_fp8(const TemporaryFolder& folder, const std::string& config, const Shape& scale_shape,
               const std::vector<float>& scale) {
  const std::string layer = "model.layers.0.";
  SafetensorsWriter writer;
  writer.add_raw(layer + "self_attn.q_proj.weight", "F8_E4M3", {4, 6}, std::string(24, '\x38'));
  writer.add(layer + "self_attn.q_proj.weight_scale_inv", scale_shape, scale);
  writer.add(layer + "self_attn.k_proj.weight", {4, 6}).add(layer + "self_attn.v_proj.weight", {4, 6});
  writer.add(layer + "self_attn.o_proj.weight", {6, 4}).add(layer + "input_layernorm.weight", {6});
  folder.write("config.json", config);
  folder.write("model.safetensors", writer.str());
}

TEST(Model, MultipliesFp8ByItsBlockScales) {
  const TemporaryFolder folder;
  write_fp8(folder,
            R"({"model_type": "llama", "num_attention_heads": 1,
                "quantization_config": {"quant_method": "fp8", "weight_block_size": [3, 4]}})",
            {2, 2}, {2, 3, 5, 7});
  const HeadWeights q = Model::open(folder.path()).load_heads(0, Role::kQ, WeightProcessing::kRaw);
  // q.head is d_model x d_head: (channel, component) is (column, row) of the stored tensor.
  EXPECT_EQ(q.head(0)(0, 0), 2);
  EXPECT_EQ(q.head(0)(4, 2), 3);
  EXPECT_EQ(q.head(0)(3, 3), 5);
  EXPECT_EQ(q.head(0)(5, 3), 7);
}

TEST(Model, AcceptsOneFp8ScaleForAWholeTensor) {
  const TemporaryFolder folder;
  write_fp8(folder, R"({"model_type": "llama", "num_attention_heads": 1})", {}, {0.5});
  EXPECT_EQ(Model::open(folder.path()).load_heads(0, Role::kQ, WeightProcessing::kRaw).head(0)(5, 3), 0.5);
}

TEST(Model, RefusesFp8CodesWithoutTheScaleThatTheConfigPromises) {
  const TemporaryFolder folder;
  write_fp8(folder,
            R"({"model_type": "llama", "num_attention_heads": 1, "quantization_config": {"quant_method": "fp8"}})", {},
            {1});
  // The same file with the scale under another name.
  const std::string layer = "model.layers.0.";
  SafetensorsWriter writer;
  writer.add_raw(layer + "self_attn.q_proj.weight", "F8_E4M3", {4, 6}, std::string(24, '\x38'));
  writer.add(layer + "self_attn.k_proj.weight", {4, 6}).add(layer + "self_attn.v_proj.weight", {4, 6});
  writer.add(layer + "self_attn.o_proj.weight", {6, 4}).add(layer + "input_layernorm.weight", {6});
  EXPECT_NO_THROW((void)Model::open(folder.path()).load_heads(0, Role::kQ));
  folder.write("model.safetensors", writer.str());
  const Model model = Model::open(folder.path());
  EXPECT_EQ(model.info().missing, (std::vector<std::string>{layer + "self_attn.q_proj.weight_scale_inv"}));
  EXPECT_ERROR(model.load_heads(0, Role::kQ), ErrorKind::kFormat, "q_proj.weight_scale_inv");
}

TEST(Model, RefusesFp8ScalesThatDoNotCoverTheTensor) {
  const TemporaryFolder folder;
  write_fp8(folder, R"({"model_type": "llama", "num_attention_heads": 1})", {2, 2}, {1, 1, 1, 1});
  EXPECT_ERROR(Model::open(folder.path()).load_heads(0, Role::kQ), ErrorKind::kFormat,
               "is [2, 2], expected one factor per block of [128, 128] of [4, 6]");
}

TEST(Model, PrefersTheImageTowerOfClip) {
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

TEST(Model, RefusesClipsTextTowerAlone) {
  SafetensorsWriter writer;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
    writer.add("text_model.encoder.layers.0.self_attn." + std::string(name) + ".weight", {4, 4});
  }
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "clip", "vision_config": {"num_attention_heads": 2}})");
  folder.write("model.safetensors", writer.str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported, "says family clip_vision, but there is no");
}

TEST(Model, SaysWhichTensorOfItsFamilyIsNotThere) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("model.safetensors", SafetensorsWriter()
                                        .add("model.layers.0.self_attn.o_proj.weight", {4, 4})
                                        .add("model.layers.0.self_attn.qkv_proj.weight", {12, 4})
                                        .str());
  EXPECT_ERROR(Model::open(folder.path()), ErrorKind::kUnsupported,
               "there is no 'model.layers.{i}.self_attn.q_proj.weight'");
}

TEST(Model, RefusesTimmModelsOfAnotherKind) {
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

TEST(Model, KnowsTimmsHeadsByArchitecture) {
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
