// What a configuration says about windows, caps and local rotary positions; where it goes wrong.

#include "headscope/model/network.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "support/expect_error.h"
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
  std::ifstream file(kModels / name / "config.json");
  Json config = Json::parse(file);
  for (const auto& [key, value] : patch.items()) {
    Json& scope = config.contains("text_config") && !config.contains(key) ? config["text_config"] : config;
    if (value == "absent") {
      scope.erase(key);
    } else {
      scope[key] = value;
    }
  }
  folder.write("config.json", config.dump());
  const Model model = Model::open(folder.path());
  Network network = resolve_network(model);
  return network;  // what it refers to ends here: only its numbers are looked at
}

std::vector<std::size_t> windows(const Network& network) {
  std::vector<std::size_t> all;
  for (const NetworkLayer& layer : network.layers) all.push_back(layer.window);
  return all;
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
  EXPECT_ERROR(changed("gemma3_text", {{"use_bidirectional_attention", true}}), ErrorKind::kUnsupported,
               "'use_bidirectional_attention' is true");
}

}  // namespace
}  // namespace headscope
