// Rotary frequencies and the keys they come from, against transformers: tests/golden/make_rotary.py.

#include "headscope/model/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/network.h"
#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using Json = nlohmann::json;
using test::SafetensorsWriter;
using test::TemporaryFolder;

// One layer with one head of 16 components.
std::string weights(bool fused) {
  SafetensorsWriter writer;
  writer.add("model.embed_tokens.weight", {4, 16}).add("lm_head.weight", {4, 16}).add("model.norm.weight", {16});
  const std::string layer = "model.layers.0.";
  if (fused) {
    writer.add(layer + "self_attn.qkv_proj.weight", {48, 16}).add(layer + "mlp.gate_up_proj.weight", {8, 16});
  } else {
    for (const char* name : {"q", "k", "v"}) writer.add(layer + "self_attn." + name + "_proj.weight", {16, 16});
    writer.add(layer + "mlp.gate_proj.weight", {4, 16}).add(layer + "mlp.up_proj.weight", {4, 16});
  }
  writer.add(layer + "self_attn.o_proj.weight", {16, 16}).add(layer + "mlp.down_proj.weight", {16, 4});
  writer.add(layer + "input_layernorm.weight", {16}).add(layer + "post_attention_layernorm.weight", {16});
  return writer.str();
}

Rotary rotary_of(const Json& keys, const std::string& family) {
  const TemporaryFolder folder;
  Json config = {{"model_type", family},           {"hidden_size", 16},        {"num_hidden_layers", 1},
                 {"num_attention_heads", 1},       {"num_key_value_heads", 1}, {"intermediate_size", 4},
                 {"max_position_embeddings", 512}, {"vocab_size", 4}};
  config.update(keys);
  folder.write("config.json", config.dump());
  folder.write("model.safetensors", weights(family == "phi3"));
  return resolve_network(Model::open(folder.path())).rotary;
}

TEST(Rotary, FrequenciesOfEveryScalingAgreeWithTransformers) {
  std::ifstream file(std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/rotary.json");
  const Json cases = Json::parse(file);
  ASSERT_GT(cases.size(), 15u);
  for (const Json& one : cases) {
    const std::string name = one["name"];
    SCOPED_TRACE(name);
    const Rotary rotary = rotary_of(one["keys"], name.starts_with("phi3") ? "phi3" : "llama");
    EXPECT_EQ(rotary.width, 16u);
    EXPECT_NEAR(rotary.amplitude, one["amplitude"].get<double>(), 1e-6);
    const std::vector<float> found = rotary_frequencies(rotary, one["length"].get<std::size_t>());
    const auto expected = one["frequencies"].get<std::vector<double>>();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6 * expected[i]) << i;
  }
}

TEST(Rotary, EarlyPhi3FilesMeanLongRope) {
  const Json lists = {{"short_factor", std::vector<double>(8, 1.5)}, {"long_factor", std::vector<double>(8, 3)}};
  for (const char* kind : {"su", "yarn", "longrope"}) {
    Json scaling = lists;
    scaling["type"] = kind;
    const Rotary rotary = rotary_of({{"rope_scaling", scaling}, {"original_max_position_embeddings", 64}}, "phi3");
    EXPECT_EQ(rotary.scaling, RotaryScaling::kLongRope) << kind;
    EXPECT_EQ(rotary.trained_length, 64);
    EXPECT_EQ(rotary.factor, 8);
    EXPECT_NEAR(rotary_frequencies(rotary, 64)[0], 1 / 1.5, 1e-6);
    EXPECT_NEAR(rotary_frequencies(rotary, 65)[0], 1 / 3.0, 1e-6);
  }
}

TEST(Rotary, PartOfAHeadMayTurn) {
  EXPECT_EQ(rotary_of({{"partial_rotary_factor", 0.5}}, "phi3").width, 8u);
  EXPECT_EQ(rotary_of({{"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.25}}}}, "phi3").width,
            4u);
}

TEST(Rotary, KeysThatMakeNoSenseAreNamed) {
  struct Row {
    Json keys;
    ErrorKind kind;
    const char* message;
  };
  const std::vector<Row> rows = {
      {{{"rope_theta", -1}}, ErrorKind::kFormat, "'rope_theta' is -1, expected a positive number"},
      {{{"rope_theta", 0}}, ErrorKind::kFormat, "'rope_theta' is 0, expected"},
      {{{"rope_theta", "big"}}, ErrorKind::kFormat, "'rope_theta' is none, expected"},
      {{{"rope_scaling", {{"type", "linear"}, {"factor", 0}}}}, ErrorKind::kFormat, "'factor' is 0"},
      {{{"rope_scaling", {{"type", 3}}}}, ErrorKind::kFormat, "'type' is not a string"},
      {{{"rope_scaling", {{"type", "spiral\n"}}}}, ErrorKind::kUnsupported, "rotary scaling 'spiral"},
      {{{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1, 2}}}}},
       ErrorKind::kFormat,
       "lists of 2 and 0 factors, expected 8"},
      {{{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1, -2}}}}},
       ErrorKind::kFormat,
       "'short_factor' holds something other than positive numbers"},
      {{{"rope_scaling", {{"rope_type", "llama3"}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}}},
       ErrorKind::kFormat,
       "low_freq_factor 4 is not below high_freq_factor 4"},
      {{{"rope_scaling", {{"rope_type", "yarn"}, {"truncate", "no"}}}}, ErrorKind::kFormat, "'truncate' is neither"},
      {{{"hidden_act", "gelu_wide"}}, ErrorKind::kUnsupported, "activation 'gelu_wide'"},
      {{{"hidden_act", 1}}, ErrorKind::kFormat, "'hidden_act' is not a string"},
      {{{"rms_norm_eps", 0}}, ErrorKind::kFormat, "'rms_norm_eps' is 0"},
  };
  for (const Row& row : rows) EXPECT_ERROR(rotary_of(row.keys, "llama"), row.kind, row.message);
  EXPECT_ERROR(rotary_of({{"partial_rotary_factor", 1e300}}, "phi3"), ErrorKind::kFormat, "expected at most 1");
  EXPECT_ERROR(rotary_of({{"partial_rotary_factor", 0.01}}, "phi3"), ErrorKind::kFormat, "rotate 0 components");
  EXPECT_ERROR(rotary_of({{"partial_rotary_factor", 0.2}}, "phi3"), ErrorKind::kFormat, "rotate 3 components");
}

}  // namespace
}  // namespace headscope
