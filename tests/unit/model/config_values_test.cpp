// Values of config.json that change the result, what holds where a key is absent, and other names of tensors.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/network.h"
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

}  // namespace
}  // namespace headscope
