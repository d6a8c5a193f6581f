#include "headscope/apply/output_bias.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "headscope/forward/ablation.h"
#include "support/expect_error.h"
#include "support/golden_inputs.h"

namespace headscope {
namespace {

TEST(OutputBias, IsFoundOrCanBeAdded) {
  const std::map<std::string, BiasKind> expected = {
      {"gpt2", BiasKind::kStored},        {"opt", BiasKind::kStored},        {"gpt_neox", BiasKind::kStored},
      {"bert", BiasKind::kStored},        {"roberta", BiasKind::kStored},    {"distilbert", BiasKind::kStored},
      {"vit", BiasKind::kStored},         {"timm_vit", BiasKind::kStored},   {"dinov2", BiasKind::kStored},
      {"clip_vision", BiasKind::kStored}, {"llama_bias", BiasKind::kStored}, {"gguf_gpt2", BiasKind::kStored},
      {"llama", BiasKind::kAdded},        {"qwen3", BiasKind::kAdded},       {"gemma2", BiasKind::kAdded},
      {"gemma3_text", BiasKind::kAdded},  {"gguf_llama", BiasKind::kAdded},  {"mistral", BiasKind::kNone},
      {"qwen2", BiasKind::kNone},         {"phi3", BiasKind::kNone},         {"gptj", BiasKind::kNone},
      {"gemma3", BiasKind::kNone},        {"gguf_qwen3", BiasKind::kNone},   {"gguf_gemma2", BiasKind::kNone}};
  for (const auto& [name, kind] : expected) {
    const OutputBias bias = find_output_bias(Model::open(test::golden_model(name)));
    EXPECT_EQ(bias.kind, kind) << name << ": " << bias.why_not;
    EXPECT_EQ(bias.why_not.empty(), kind != BiasKind::kNone) << name;
  }
}

TEST(OutputBias, KeepsItsValueWhereNoHeadIsReplaced) {
  const Model model = Model::open(test::golden_model("llama"));
  const HeadSizes& sizes = model.info().sizes;
  std::vector<HeadReplacement> one = {{1, 2, std::vector<float>(sizes.d_head)}};
  one.front().value[3] = 2;
  const std::vector<std::vector<float>> biases = biases_with(model, one);
  ASSERT_EQ(biases.size(), sizes.layers);
  EXPECT_EQ(biases[0], std::vector<float>(sizes.d_model));
  const HeadWeights writes = model.load_heads(1, Role::kO, WeightProcessing::kRaw);
  for (std::size_t i = 0; i < sizes.d_model; ++i) EXPECT_EQ(biases[1][i], 2 * writes.head(2)(i, 3));
  one.front().layer = sizes.layers;
  EXPECT_ERROR(biases_with(model, one), ErrorKind::kInvalidArgument, "there is no head 2");
}

}  // namespace
}  // namespace headscope
