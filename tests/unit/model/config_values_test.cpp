// Values of config.json that change the result, what holds where a key is absent, and other names of tensors.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/network.h"
#include "headscope/model/rotary_of.h"
#include "support/changed_case.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using Patch = nlohmann::json;

const fs::path kCases = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/families";

// Resolves a golden model with a changed configuration. What the result refers to ends here: only its numbers count.
Network with_config(const std::string& name, const Patch& patch) {
  const TemporaryFolder folder;
  fs::copy_file(kCases / name / "model.safetensors", folder.path() / "model.safetensors");
  test::write_config(folder, kCases / name, patch);
  return resolve_network(Model::open(folder.path()));
}

// The same with tensors under other names, or without them; `extra` are further ones.
Network with_tensors(const std::string& name, const std::function<std::string(const std::string&)>& rename,
                     const Patch& patch = Patch::object(), const test::SafetensorsWriter& extra = {}) {
  const TemporaryFolder folder;
  test::write_renamed(folder, kCases / name, rename, extra);
  test::write_config(folder, kCases / name, patch);
  return resolve_network(Model::open(folder.path()));
}

std::string same(const std::string& name) {
  return name;
}

std::function<std::string(const std::string&)> replacing(const std::string& part, const std::string& other) {
  return [=](std::string name) {
    const auto at = name.find(part);
    return at == std::string::npos ? name : name.replace(at, part.size(), other);
  };
}

std::function<std::string(const std::string&)> without(const std::string& part) {
  return [=](const std::string& name) { return name.find(part) == std::string::npos ? name : ""; };
}

std::size_t corrected_layers(const Network& network) {
  std::size_t count = 0;
  for (const NetworkLayer& layer : network.layers) {
    if (layer.experts && layer.experts->router.correction != nullptr) ++count;
  }
  for (const MixerLayer& mixer : network.mixers) {
    if (mixer.block.experts && mixer.block.experts->router.correction != nullptr) ++count;
  }
  return count;
}

TEST(ConfigValues, DecodersWithoutAMaskAreRefusedWhereTheyAreNotKnown) {
  const Patch both_ways = {{"is_causal", false}};
  EXPECT_FALSE(with_config("seed_oss", both_ways).causal);
  EXPECT_TRUE(with_config("seed_oss", {{"is_causal", true}}).causal);
  EXPECT_TRUE(with_config("gpt_neo", both_ways).causal);  // whose mask is a part of attention
  EXPECT_EQ(with_config("cohere2", {{"is_causal", false}, {"sliding_window", 3}}).layers[0].window, 4U);
  EXPECT_EQ(with_config("gemma4", {{"use_bidirectional_attention", "all"}, {"sliding_window", 4}}).layers[0].window,
            4U);
  EXPECT_ERROR(with_config("bloom", both_ways), ErrorKind::kUnsupported, "attends in both directions with ALiBi");
  EXPECT_ERROR(with_config("llama4", both_ways), ErrorKind::kUnsupported, "but not in layers with chunks");
  EXPECT_ERROR(with_config("bart", both_ways), ErrorKind::kUnsupported, "'is_causal' is false, also in the decoder");
}

TEST(ConfigValues, GgufFilesWithoutAMaskAreRefusedWhereLlamaCppDiffers) {
  const auto unmasked = [](const std::string& name, const std::string& keys) {
    const TemporaryFolder folder;
    const fs::path file =
        folder.write("model.gguf", test::with_key(test::read(kCases / name / "model.gguf"), keys + ".attention.causal",
                                                  GgufType::kBool, std::string(1, '\0')));
    const Model model = Model::open(file);
    EXPECT_FALSE(model.info().causal);
    return resolve_network(model).causal;
  };
  EXPECT_FALSE(unmasked("gguf_seed_oss", "seed_oss"));
  EXPECT_ERROR(unmasked("gguf_lfm2", "lfm2"), ErrorKind::kUnsupported, "also in layers without attention");
  EXPECT_ERROR(unmasked("gguf_olmo3", "olmo2"), ErrorKind::kUnsupported, "also in layers with a window");
}

TEST(ConfigValues, ClassesThatReadInBothDirectionsAreNotRun) {
  const Patch encoder = {{"auto_map", {{"AutoModel", "modeling_lfm2_bidirectional.Lfm2BidirectionalModel"}}}};
  EXPECT_ERROR(with_config("lfm2", encoder), ErrorKind::kUnsupported, "Lfm2BidirectionalModel', which reads in both");
  Patch unmasked = encoder;
  unmasked["is_causal"] = false;
  EXPECT_ERROR(with_config("lfm2", unmasked), ErrorKind::kUnsupported, "relate works");
  const Patch named = {{"architectures", {"SeedOssBidirectionalModel"}}};
  EXPECT_ERROR(with_config("seed_oss", named), ErrorKind::kUnsupported, "'SeedOssBidirectionalModel'");
  EXPECT_FALSE(
      with_config("seed_oss", {{"architectures", {"SeedOssBidirectionalModel"}}, {"is_causal", false}}).causal);
  EXPECT_FALSE(with_config("modernbert", named).causal);
}

TEST(ConfigValues, DebertaAddsPositionsOnlyIfItSaysSo) {
  test::SafetensorsWriter stray;
  stray.add("deberta.embeddings.position_embeddings.weight", {16, 8});
  const auto positions = [&](const std::string& name, const Patch& patch) {
    return with_tensors(name, same, patch, stray).input.positions != nullptr;
  };
  for (const std::string name : {"deberta", "deberta_v2"}) {  // both have "position_biased_input": false
    EXPECT_FALSE(positions(name, {}));
    EXPECT_TRUE(positions(name, {{"position_biased_input", "absent"}}));
    EXPECT_ERROR(with_config(name, {{"position_biased_input", true}}), ErrorKind::kFormat,
                 "lacks tensor 'deberta.embeddings.position_embeddings.weight'");
  }
}

TEST(ConfigValues, CorrectionsOfRoutersMayHaveTheNamesOfTransformers) {
  EXPECT_GT(corrected_layers(with_tensors("exaone_moe", replacing("mlp.e_score", "mlp.gate.e_score"))), 0U);
  EXPECT_GT(corrected_layers(with_tensors("ernie4_5_moe", replacing("mlp.moe_statics", "mlp.gate.moe_statics"))), 0U);
  EXPECT_GT(corrected_layers(with_tensors("minimax_m2", replacing("block_sparse_moe.e_score", "mlp.e_score"))), 0U);
}

TEST(ConfigValues, CorrectionsOfRoutersAreNeeded) {
  for (const std::string name : {"exaone_moe", "ernie4_5_moe", "minimax_m2", "deepseek_v3", "glm4_moe", "glm4_moe_lite",
                                 "dots1", "solar_open", "nemotron_h"}) {
    EXPECT_ERROR(with_tensors(name, without("e_score_correction_bias")), ErrorKind::kFormat,
                 "e_score_correction_bias'");
  }
  EXPECT_ERROR(with_tensors("lfm2_moe", without("expert_bias")), ErrorKind::kFormat, "expert_bias'");
  const Patch off = {{"use_expert_bias", false}};
  EXPECT_EQ(corrected_layers(with_tensors("lfm2_moe", without("expert_bias"), off)), 0U);
  EXPECT_EQ(corrected_layers(with_config("lfm2_moe", off)), 0U);  // a stray one is not added
  EXPECT_GT(corrected_layers(with_config("lfm2_moe", {})), 0U);
}

TEST(ConfigValues, LatentMixturesOfNemotronAreRefusedInWhicheverLayer) {
  for (const std::string prefix : {"backbone.", "model."}) {
    test::SafetensorsWriter latent;
    latent.add(prefix + "layers.3.mixer.fc1_latent_proj.weight", {2, 2});
    EXPECT_ERROR(with_tensors("nemotron_h", replacing("backbone.", prefix), Patch::object(), latent),
                 ErrorKind::kUnsupported, "has tensor '" + prefix + "layers.3.mixer.fc1_latent_proj.weight'");
  }
  test::SafetensorsWriter talking;
  talking.add("deberta.encoder.layer.1.attention.self.head_logits_proj.weight", {2, 2});
  EXPECT_ERROR(with_tensors("deberta", same, Patch::object(), talking), ErrorKind::kUnsupported,
               "layer.1.attention.self.head_logits_proj.weight'");
}

TEST(ConfigValues, HunyuanMayListExpertsByLayer) {
  const std::string model = "hunyuan_v1_moe";
  const Network network = with_config(model, {{"moe_topk", {1, 3}}, {"num_experts", {4, 4}}, {"n_group", false}});
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[0].experts->router.chosen, 1U);
  EXPECT_EQ(network.layers[1].experts->router.chosen, 3U);
  EXPECT_EQ(network.layers[1].experts->router.groups, 1U);
  EXPECT_ERROR(with_config(model, {{"moe_topk", Patch::array({2})}}), ErrorKind::kFormat,
               "'moe_topk' has 1 entries, but there is a layer 1");
  EXPECT_ERROR(with_config(model, {{"moe_topk", {2, "two"}}}), ErrorKind::kFormat, "a token uses 0 experts");
}

TEST(ConfigValues, WhatWouldChangeTheResultIsRefused) {
  const auto refused = [](const std::string& name, const std::string& key, const Patch& value) {
    EXPECT_ERROR(with_config(name, {{key, value}}), ErrorKind::kUnsupported, "'" + key + "' is not ");
  };
  for (const char* key : {"prenorm", "causal", "rotary_emb_interleaved", "use_rms_norm", "parallel_block"}) {
    refused("nomic_bert", key, true);
    EXPECT_NO_THROW(with_config("nomic_bert", {{key, false}}));
  }
  refused("nomic_bert", "rotary_emb_fraction", 0.5);
  refused("nomic_bert", "rotary_scaling_factor", 2);
  EXPECT_NO_THROW(with_config("nomic_bert", {{"rotary_emb_fraction", 1.0}, {"rotary_scaling_factor", nullptr}}));
  for (const char* name : {"modernbert", "modernbert_decoder"}) refused(name, "classifier_activation", "silu");
  refused("ernie4_5_moe", "moe_norm_min", 0.5);
  for (const char* name : {"bamba", "granitemoehybrid", "falcon_h1"}) {
    refused(name, "time_step_limit", {0.0, 0.5});
    refused(name, "time_step_limit", {0.001, nullptr});
    EXPECT_NO_THROW(with_config(name, {{"time_step_limit", {0.0, nullptr}}}));
    EXPECT_ERROR(with_config(name, {{"time_step_limit", {0.0}}}), ErrorKind::kFormat, "expected 2");
  }
  EXPECT_NO_THROW(with_config("nemotron_h", {{"time_step_limit", {0.1, 0.5}}}));  // it has `time_step_min` instead
}

// Python's json module writes Infinity, which JSON lacks.
TEST(ConfigValues, InfiniteLimitsAreRead) {
  const TemporaryFolder folder;
  fs::copy_file(kCases / "bamba/model.safetensors", folder.path() / "model.safetensors");
  test::write_config(folder, kCases / "bamba", {{"time_step_limit", {0.0, "INFINITY"}}});
  std::string config = test::read(folder.path() / "config.json");
  const std::string quoted = "\"INFINITY\"";
  config.replace(config.find(quoted), quoted.size(), "Infinity");
  folder.write("config.json", config);
  EXPECT_NO_THROW(static_cast<void>(resolve_network(Model::open(folder.path()))));
}

TEST(ConfigValues, AbsentKeysHaveTheDefaultsOfTransformers) {
  const Patch no_positions = {{"rope_parameters", "absent"}, {"rope_theta", "absent"}, {"rope_scaling", "absent"}};
  const Network apertus = with_config("apertus", no_positions);
  EXPECT_EQ(apertus.rotary.base, 12e6);
  EXPECT_EQ(apertus.rotary.scaling, RotaryScaling::kLlama3);
  EXPECT_EQ(apertus.rotary.factor, 8);
  EXPECT_EQ(apertus.rotary.trained_length, 8192);
  EXPECT_EQ(with_config("apertus", {{"rope_parameters", {{"rope_theta", 500.0}}}}).rotary.scaling,
            RotaryScaling::kNone);
  EXPECT_EQ(with_config("exaone_moe", no_positions).rotary.base, 10000);
  EXPECT_EQ(with_config("olmo2", no_positions).rotary.base, 10000);
  EXPECT_EQ(with_config("olmo3", no_positions).rotary.base, 500'000);
  EXPECT_EQ(with_config("olmo3", no_positions).local_rotary.base, 500'000);
  EXPECT_EQ(with_config("../forward/qwen2", no_positions).rotary.base, 10000);
  EXPECT_EQ(with_config("../towers/qwen2_vl", no_positions).rotary.base, 1e6);
  EXPECT_EQ(with_config("../towers/qwen3_vl", no_positions).rotary.base, 500'000);
  for (const char* name : {"granite", "granitemoe", "granitemoehybrid"}) {
    EXPECT_EQ(with_config(name, {{"attention_multiplier", "absent"}}).layers[0].score_scale, 1);
  }
  EXPECT_ERROR(with_config("gemma3n", {{"num_kv_shared_layers", "absent"}}), ErrorKind::kFormat, "15 of 4 layers");
  const Network falcon = with_config("falcon_h1", {{"mamba_norm_before_gate", "absent"}});
  EXPECT_TRUE(falcon.layers[0].beside->norm_first);
  EXPECT_TRUE(falcon.layers[0].beside->norm.has_value());
  EXPECT_FALSE(with_config("falcon_h1", {{"mamba_rms_norm", "absent"}}).layers[0].beside->norm.has_value());
}

TEST(ConfigValues, MiniMaxStatesItsRotatedComponentsOrTheirShare) {
  const std::string model = "minimax_m2";
  const double base = with_config(model, {}).rotary.base;
  const auto rotated = [&](const Patch& parameters, const Patch& width) {
    return with_config(model, {{"rope_parameters", parameters}, {"rotary_dim", width}}).rotary.width;
  };
  EXPECT_EQ(rotated({{"rope_theta", base}, {"partial_rotary_factor", 0.34}}, "absent"), 2U);
  EXPECT_EQ(rotated({{"rope_theta", base}}, "absent"), 6U);
  EXPECT_EQ(rotated({{"rope_theta", base}}, 4), 4U);
}

}  // namespace
}  // namespace headscope
