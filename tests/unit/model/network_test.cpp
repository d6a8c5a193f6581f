// What a configuration says about windows, caps and local rotary positions; where it goes wrong.

#include "headscope/model/network.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/stream_matrix.h"
#include "support/bytes.h"
#include "support/changed_case.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::TemporaryFolder;

const fs::path kModels = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/forward";

// A golden model with some keys of its configuration changed; null takes one away.
Network changed(const std::string& name, const Json& patch) {
  const TemporaryFolder folder;
  fs::copy_file(kModels / name / "model.safetensors", folder.path() / "model.safetensors");
  test::write_config(folder, kModels / name, patch);
  const Model model = Model::open(folder.path());
  Network network = resolve_network(model);
  return network;  // what it refers to ends here: only its numbers are looked at
}

std::vector<std::size_t> windows(const Network& network) {
  std::vector<std::size_t> all;
  for (const NetworkLayer& layer : network.layers) all.push_back(layer.window);
  return all;
}

const std::string kFamilies = "../families/";

std::vector<bool> rotated(const Network& network) {
  std::vector<bool> all;
  for (const NetworkLayer& layer : network.layers) all.push_back(layer.rotary);
  return all;
}

TEST(Network, WindowsOfPatchesAreShiftedInEverySecondLayerOfSwin) {
  const std::string model = "../towers/swin";
  const auto patches = [](const Network& network) {
    std::vector<PatchWindows> all;
    for (const NetworkLayer& layer : network.layers) all.push_back(layer.patch_windows);
    return all;
  };
  EXPECT_EQ(patches(changed(model, {})), (std::vector<PatchWindows>{{2, 0}, {2, 1}}));
  EXPECT_EQ(changed(model, {}).input.merged, 2U);
  EXPECT_ERROR(changed(model, {{"window_size", "absent"}}), ErrorKind::kFormat, "'window_size' is 0");
  EXPECT_ERROR(changed(model, {{"window_size", 1}}), ErrorKind::kFormat,
               "relative_position_bias_table' is [9, 2], expected [1, 2]");
}

TEST(Network, LayersWithoutRotaryPositionsAreListedOrCounted) {
  using Layers = std::vector<bool>;
  const std::string model = kFamilies + "smollm3";
  EXPECT_EQ(rotated(changed(model, {{"no_rope_layers", Json::array({0, 1, 1, 0})}})),
            (Layers{false, true, true, false}));
  EXPECT_EQ(rotated(changed(model, {{"no_rope_layers", "absent"}})), (Layers{true, true, true, false}));
  EXPECT_EQ(rotated(changed(model, {{"no_rope_layers", "absent"}, {"no_rope_layer_interval", 2}})),
            (Layers{true, false, true, false}));
  EXPECT_EQ(rotated(changed(kFamilies + "cohere2", {})), (Layers{true, true, true, false}));
  EXPECT_ERROR(changed(model, {{"no_rope_layers", Json::array({1})}}), ErrorKind::kFormat,
               "'no_rope_layers' has 1 entries for 4");
}

TEST(Network, GptNeosLocalLayersAreListedOneByOneOrByPattern) {
  const std::string model = kFamilies + "gpt_neo";
  const std::vector<std::size_t> alternating = {0, 4};
  EXPECT_EQ(windows(changed(model, {})), alternating);
  EXPECT_EQ(windows(changed(model, {{"attention_layers", "absent"}})), alternating);
  EXPECT_EQ(windows(changed(model, {{"attention_layers", "absent"}, {"attention_types", "absent"}})), alternating);
  const Json pattern = Json::parse(R"([[["local"], 1], [["global"], 1]])");
  EXPECT_EQ(windows(changed(model, {{"attention_layers", "absent"}, {"attention_types", pattern}})),
            (std::vector<std::size_t>{4, 0}));
}

TEST(Network, ModernBertsOlderKeysMeanTheSame) {
  const std::string model = kFamilies + "modernbert";
  const Json older = {{"layer_types", "absent"},
                      {"rope_parameters", "absent"},
                      {"global_attn_every_n_layers", 2},
                      {"global_rope_theta", 500.0},
                      {"local_rope_theta", 50.0}};
  const Network network = changed(model, older);
  EXPECT_EQ(windows(network), (std::vector<std::size_t>{0, 4, 0}));  // 6 tokens: 3 on each side, and itself
  EXPECT_EQ(network.rotary.base, 500);
  EXPECT_EQ(network.local_rotary.base, 50);
}

TEST(Network, TransformerXlSeesAsManyTokensAsItsMemoryHolds) {
  const std::string model = kFamilies + "transfo_xl";
  EXPECT_EQ(windows(changed(model, {})), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(windows(changed(model, {{"same_length", true}, {"mem_len", 5}})), (std::vector<std::size_t>{5, 5}));
  EXPECT_EQ(changed(model, {}).input.tables.size(), 3u);
  EXPECT_EQ(changed(model, {{"clamp_len", -1}}).relative.longest, 0u);
  EXPECT_ERROR(changed(model, {{"pre_lnorm", true}}), ErrorKind::kUnsupported, "'pre_lnorm' is true");
  EXPECT_ERROR(changed(model, {{"attn_type", 1}}), ErrorKind::kUnsupported, "'attn_type' is not 0");
}

TEST(Network, RelativePositionsMustFitTheirBuckets) {
  const std::string model = kFamilies + "deberta_v2";
  EXPECT_ERROR(changed(model, {{"position_buckets", 2}}), ErrorKind::kFormat, "2 buckets for relative positions");
  EXPECT_ERROR(changed(model, {{"position_buckets", 8}}), ErrorKind::kFormat, "expected at least [16, 8]");
  EXPECT_ERROR(changed(model, {{"max_relative_positions", 3}}), ErrorKind::kFormat, "relative positions up to 3");
}

TEST(Network, FactorsComeFromTheConfiguration) {
  const Network granite = changed(kFamilies + "granite", {{"residual_multiplier", 0.25}, {"logits_scaling", 8}});
  EXPECT_EQ(granite.branch_factor, 0.25F);
  EXPECT_EQ(granite.output.logit_factor, 0.125F);
  EXPECT_EQ(changed(kFamilies + "cohere", {{"logit_scale", "absent"}}).output.logit_factor, 0.0625F);
  EXPECT_EQ(changed(kFamilies + "olmo", {{"clip_qkv", nullptr}}).clip, 0);
}

TEST(Network, AlibisSlopesAreThoseOfTheNextPowerOfTwo) {
  const ScoreBias bias = changed(kFamilies + "bloom", {}).bias;  // three heads
  EXPECT_EQ(bias.slopes, (std::vector<float>{0x1p-4F, 0x1p-8F, 0x1p-2F}));
}

TEST(Network, SaysWhyAFamilyIsNotRun) {
  EXPECT_ERROR(changed(kFamilies + "longformer", {}), ErrorKind::kUnsupported, "tokens that attend globally");
  EXPECT_ERROR(changed(kFamilies + "deepseek_v32", {}), ErrorKind::kUnsupported, "that an indexer selects");
  EXPECT_ERROR(changed(kFamilies + "kimi_linear", {}), ErrorKind::kUnsupported, "Kimi Delta Attention");
  EXPECT_ERROR(changed(kFamilies + "../towers/llama4_vision", {}), ErrorKind::kUnsupported, "follows the patches");
  EXPECT_ERROR(changed(kFamilies + "gemma3n", {{"altup_active_idx", 1}}), ErrorKind::kUnsupported,
               "'altup_active_idx' is not 0");
  EXPECT_ERROR(changed(kFamilies + "gemma3n", {{"activation_sparsity_pattern", {0.5, 1.0, 0.0, 0.0}}}),
               ErrorKind::kFormat, "an entry that is not from 0 to 1");
  EXPECT_ERROR(changed(kFamilies + "gemma3n", {{"activation_sparsity_pattern", Json::array({0.5})}}),
               ErrorKind::kFormat, "has 1 entries for 4 layers");
  EXPECT_ERROR(changed(kFamilies + "bamba", {{"mamba_n_groups", 3}}), ErrorKind::kFormat,
               "4 heads of Mamba 2 in 3 groups");
  EXPECT_ERROR(changed(kFamilies + "bamba", {{"mamba_d_state", 7}}), ErrorKind::kFormat, "in_proj");
  EXPECT_ERROR(changed(kFamilies + "falcon_h1", {{"ssm_multipliers", {1.0, 2.0}}}), ErrorKind::kFormat,
               "'ssm_multipliers' has 2 entries, expected 5");
  for (const auto& [bias, factor] :
       {std::pair{"attention_bias", "attention_in_multiplier"}, std::pair{"mamba_proj_bias", "ssm_in_multiplier"},
        std::pair{"projectors_bias", "ssm_out_multiplier"}}) {
    EXPECT_ERROR(changed(kFamilies + "falcon_h1", {{bias, true}, {factor, 0.5}}), ErrorKind::kUnsupported,
                 std::string("'") + bias + "' is true and '" + factor + "' is not 1");
  }
  EXPECT_ERROR(changed(kFamilies + "apertus", {{"hidden_act", "silu"}}), ErrorKind::kUnsupported, "'silu'");
  EXPECT_ERROR(changed(kFamilies + "gemma4", {{"enable_moe_block", true}}), ErrorKind::kUnsupported, "experts");
  EXPECT_ERROR(changed(kFamilies + "lfm2", {{"num_hidden_layers", 2}}), ErrorKind::kFormat,
               "says 2 layers, but layer 2 has attention");
  EXPECT_ERROR(changed(kFamilies + "qwen3_next", {{"linear_num_key_heads", 3}}), ErrorKind::kFormat,
               "no multiple of 3");
  EXPECT_ERROR(changed(kFamilies + "qwen3_next", {{"linear_key_head_dim", 3}}), ErrorKind::kFormat, "in_proj_qkvz");
  EXPECT_ERROR(changed(kFamilies + "esm", {{"position_embedding_type", "absolute"}}), ErrorKind::kUnsupported,
               "position_embedding_type 'absolute'");
  EXPECT_ERROR(changed(kFamilies + "bloom", {{"apply_residual_connection_post_layernorm", true}}),
               ErrorKind::kUnsupported, "'apply_residual_connection_post_layernorm' is true");
  EXPECT_ERROR(changed(kFamilies + "deberta_v2", {{"conv_kernel_size", 3}}), ErrorKind::kUnsupported, "a convolution");
  EXPECT_ERROR(changed(kFamilies + "albert", {{"num_hidden_groups", 3}}), ErrorKind::kFormat,
               "4 layers share 3 sets of weights");
  EXPECT_ERROR(changed(kFamilies + "mpnet", {{"relative_attention_num_buckets", 32}, {"num_attention_heads", 4}}),
               ErrorKind::kFormat, "relative_attention_bias.weight' is [32, 2], expected [buckets, 4]");
}

// A golden GGUF file in which some text is another of the same length.
void resolve_with(const std::string& name, const std::string& text, const std::string& other) {
  std::string bytes = test::read(kModels / (kFamilies + name) / "model.gguf");
  const std::size_t at = bytes.find(text);
  ASSERT_NE(at, std::string::npos) << text;
  bytes.replace(at, text.size(), other);
  const TemporaryFolder folder;
  folder.write("model.gguf", bytes);
  static_cast<void>(resolve_network(Model::open(folder.path() / "model.gguf")));
}

TEST(Network, GgufKeysOfStateSpacesAndActivationsAreNeeded) {
  EXPECT_ERROR(resolve_with("gguf_nemotron_h_dense", "ssm.group_count", "ssm.group_cOunt"), ErrorKind::kFormat,
               "4 heads of Mamba 2 in 0 groups with 3 states");
  EXPECT_ERROR(resolve_with("gguf_apertus", "xielu.alpha_n", "xielu.alpha_N"), ErrorKind::kUnsupported,
               "lacks 'xielu.alpha_n'");
  EXPECT_ERROR(resolve_with("gguf_jamba", "blk.0.ssm_dt_norm.weight", "blk.0.ssm_dT_norm.weight"), ErrorKind::kFormat,
               "lacks tensor 'blk.0.ssm_dt_norm.weight'");
}

TEST(Network, NumbersOfStatesThatNoFileHasAreRefused) {
  EXPECT_ERROR(resolve_with("gguf_nemotron_h_dense", std::string("ssm.state_size\4\0\0\0\3\0\0\0", 22),
                            std::string("ssm.state_size\4\0\0\0\3\0\0\xf0", 22)),
               ErrorKind::kFormat, "4 heads of Mamba 2 in 2 groups with 0 states");
}

TEST(Network, AMatrixWithoutAxesIsRefused) {
  const std::string bytes = test::read(kModels / (kFamilies + "jamba") / "model.safetensors");
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  Json header = Json::parse(bytes.substr(sizeof size, size));
  Json& step = header["model.layers.0.mamba.dt_proj.weight"];
  const std::size_t begin = step["data_offsets"][0];
  const std::size_t end = step["data_offsets"][1];
  header["rest"] = {{"dtype", "F16"}, {"shape", {(end - begin) / 2 - 1}}, {"data_offsets", {begin + 2, end}}};
  step["shape"] = Json::array();
  step["data_offsets"] = {begin, begin + 2};
  const std::string text = header.dump();
  const TemporaryFolder folder;
  folder.write("model.safetensors",
               test::Bytes().add<std::uint64_t>(text.size()).add_text(text).add_text(bytes.substr(8 + size)).str());
  fs::copy_file(kModels / (kFamilies + "jamba") / "config.json", folder.path() / "config.json");
  EXPECT_ERROR(resolve_network(Model::open(folder.path())), ErrorKind::kFormat,
               "'model.layers.0.mamba.dt_proj.weight' is [], expected 16 outputs");
}

TEST(Network, MlpsThatAreLayersOfTheirOwnAreNotPartOfThoseWithAttention) {
  const Model model = Model::open(kModels / (kFamilies + "nemotron_h"));
  const Network network = resolve_network(model);
  for (const StreamPart part : {StreamPart::kMlpIn, StreamPart::kMlpOut}) {
    EXPECT_ERROR(StreamMatrix(model, network, part, 0, WeightProcessing::kRaw), ErrorKind::kUnsupported,
                 "its MLPs are layers of their own");
  }
}

TEST(Network, WindowsFollowTheKeysOrTheFamily) {
  const std::size_t layers = windows(changed("mistral", {})).size();
  EXPECT_EQ(windows(changed("mistral", {{"sliding_window", 7}})), std::vector<std::size_t>(layers, 7));
  EXPECT_EQ(windows(changed("mistral", {{"sliding_window", nullptr}})), std::vector<std::size_t>(layers, 0));
  EXPECT_EQ(windows(changed("mistral", {{"sliding_window", "absent"}})), std::vector<std::size_t>(layers, 4096));
  const std::vector<std::size_t> gemma = windows(changed("gemma2", {{"sliding_window", 9}, {"layer_types", "absent"}}));
  EXPECT_EQ(gemma[0], 9u);
  EXPECT_EQ(gemma[1], 0u);
  EXPECT_EQ(windows(changed("qwen2_window", {{"use_sliding_window", false}}))[0], 0u);
  EXPECT_ERROR(changed("mistral", {{"sliding_window", -3}}), ErrorKind::kFormat, "'sliding_window' is");
  EXPECT_ERROR(changed("gemma2", {{"layer_types", {"full_attention"}}}), ErrorKind::kFormat,
               "'layer_types' has 1 entries for");
  const std::vector<std::string> odd(gemma.size(), "chunked_attention");
  EXPECT_ERROR(changed("gemma2", {{"layer_types", odd}}), ErrorKind::kUnsupported, "layer type 'chunked_attention'");
}

TEST(Network, CapsAreThoseOfTheFamilyUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(changed("gemma2", {{"attn_logit_softcapping", 12}}).score_cap, 12);
  EXPECT_EQ(changed("gemma2", {{"attn_logit_softcapping", nullptr}}).score_cap, 0);
  EXPECT_EQ(changed("gemma2", {{"attn_logit_softcapping", "absent"}}).score_cap, 50);
  EXPECT_EQ(changed("llama", {{"attn_logit_softcapping", 12}}).score_cap, 0);  // not a key of this family
}

TEST(Network, LocalLayersOfGemma3TurnOtherwise) {
  const Network network = changed("gemma3", {});
  ASSERT_GT(network.local_rotary.width, 0u);
  EXPECT_NE(network.local_rotary.base, network.rotary.base);
  for (const NetworkLayer& layer : network.layers) EXPECT_EQ(layer.local_rotary, layer.window > 0);
}

TEST(Network, RelativesWithAnotherArithmeticAreRefused) {
  EXPECT_ERROR(changed("bert", {{"is_decoder", true}}), ErrorKind::kUnsupported, "'is_decoder' is true");
  EXPECT_ERROR(changed("bert", {{"position_embedding_type", "relative_key"}}), ErrorKind::kUnsupported,
               "position_embedding_type 'relative_key'");
  EXPECT_ERROR(changed("gemma2", {{"use_bidirectional_attention", true}}), ErrorKind::kUnsupported,
               "attends in both directions, also in layers with a window");
}

}  // namespace
}  // namespace headscope
