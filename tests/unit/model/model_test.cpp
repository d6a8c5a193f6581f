#include "headscope/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
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

}  // namespace
}  // namespace headscope
