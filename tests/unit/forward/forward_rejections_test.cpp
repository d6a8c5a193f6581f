// What the forward pass does not run, and what it says then.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/io/npz.h"
#include "support/expect_error.h"
#include "support/tiny_gpt2.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::some_tokens;
using test::TemporaryFolder;
using test::TinyGpt2;
using test::TinyLlama;

const std::string kGolden = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/";

void run(const Model& model, const std::vector<ModelInput>& inputs, ForwardOptions options = {},
         const Context& context = {}) {
  options.on_output = [](const OutputRows&) {};
  run_forward(model, inputs, options, context);
}

Pixels pixels(std::size_t channels, std::size_t height, std::size_t width) {
  return {channels, height, width, std::vector<float>(channels * height * width, 0.5F)};
}

TEST(ForwardRefusals, InputsThatDoNotFitATextModel) {
  const Model llama = Model::open(kGolden + "forward/llama");
  const Model gpt2 = Model::open(kGolden + "forward/gpt2");
  const ModelInput good = some_tokens(3, 10);
  EXPECT_ERROR(run(llama, {good, {}}), ErrorKind::kFormat, "input 1: no tokens");
  EXPECT_ERROR(run(llama, {{.ids = {1, 64}}}), ErrorKind::kFormat,
               "input 0: token 1 has id 64, but the model's vocabulary has 64");
  EXPECT_ERROR(run(llama, {{.pixels = pixels(3, 16, 16)}}), ErrorKind::kFormat, "takes tokens");
  EXPECT_ERROR(run(gpt2, {good, some_tokens(1000, 10)}), ErrorKind::kFormat,
               "input 1: 1000 tokens, but the model has positions for only ");
  EXPECT_EQ(token_count(llama, good), 3u);
  EXPECT_ERROR(token_count(llama, {}), ErrorKind::kFormat, "no tokens");
}

TEST(ForwardRefusals, InputsThatDoNotFitAnImageModel) {
  const Model vit = Model::open(kGolden + "forward/vit");
  const Model dino = Model::open(kGolden + "forward/dinov2");
  EXPECT_ERROR(run(vit, {some_tokens(3, 10)}), ErrorKind::kFormat, "takes images");
  EXPECT_ERROR(run(vit, {{.pixels = pixels(1, 16, 16)}}), ErrorKind::kFormat,
               "has 1 channels, but the model expects 3");
  EXPECT_ERROR(run(vit, {{.pixels = pixels(3, 16, 20)}}), ErrorKind::kFormat,
               "the image is 16 x 20, but the model expects 16 x 16");
  EXPECT_ERROR(run(dino, {{.pixels = pixels(3, 3, 40)}}), ErrorKind::kFormat, "smaller than a patch of 4 x 4");
  ModelInput torn{.pixels = pixels(3, 16, 16)};
  torn.pixels.values.resize(100);
  EXPECT_ERROR(run(vit, {torn}), ErrorKind::kFormat, "100 values for an image of 3 channels of 16 x 16");
  EXPECT_EQ(token_count(vit, {.pixels = pixels(3, 16, 16)}), 17u);
}

TEST(ForwardRefusals, ABudgetThatIsTooSmall) {
  const Model model = Model::open(kGolden + "forward/llama");
  const Context context{.memory = 1000};
  EXPECT_ERROR(run(model, {some_tokens(3, 10)}, {}, context), ErrorKind::kResource, "use a larger --memory");
}

// A broken number in any tensor that is read is found and named.
TEST(ForwardRefusals, WeightsThatAreNotFinite) {
  for (const auto& [name, shape] : TinyLlama().shapes) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      TinyLlama tiny;
      tiny.values.at(name)[5] = bad;
      const TemporaryFolder folder;
      tiny.write(folder);
      const std::string expected = "'" + name + "'";
      EXPECT_ERROR(run(Model::open(folder.path()), {some_tokens(9, 13), {.ids = {0, 5}}}), ErrorKind::kNumeric,
                   expected);
    }
  }
}

TEST(ForwardRefusals, ActivationsThatRunOutOfRange) {
  TinyLlama tiny;
  for (float& value : tiny.values.at("model.layers.1.mlp.down_proj.weight")) value *= 3e38F;
  const TemporaryFolder folder;
  tiny.write(folder);
  std::string said;
  try {
    run(Model::open(folder.path()), {some_tokens(9, 13)});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
    said = error.what();
  }
  EXPECT_THAT(said, testing::AnyOf(testing::HasSubstr("activations are NaN or infinite after layer 1"),
                                   testing::HasSubstr("down_proj.weight'")));
}

TEST(ForwardRefusals, TensorsThatAreMissingOrMisshapen) {
  const auto with = [](const std::function<void(TinyLlama&)>& change) {
    TinyLlama tiny;
    change(tiny);
    const TemporaryFolder folder;
    tiny.write(folder);
    run(Model::open(folder.path()), {some_tokens(3, 10)});
  };
  for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "model.layers.1.mlp.up_proj.weight",
                           "model.layers.0.mlp.down_proj.weight", "model.layers.1.self_attn.k_proj.weight",
                           "model.layers.1.post_attention_layernorm.weight"}) {
    EXPECT_ERROR(with([&](TinyLlama& tiny) { tiny.shapes.erase(name); }), ErrorKind::kFormat,
                 std::string("lacks tensor '") + name + "'");
  }
  const auto reshaped = [&](const std::string& name, const Shape& shape) {
    with([&](TinyLlama& tiny) {
      tiny.shapes[name] = shape;
      tiny.values[name].resize(static_cast<std::size_t>(*element_count(shape)));
    });
  };
  EXPECT_ERROR(reshaped("model.layers.1.mlp.up_proj.weight", {12, 15}), ErrorKind::kFormat, "is [12, 15], expected");
  EXPECT_ERROR(reshaped("model.layers.1.mlp.down_proj.weight", {16, 11}), ErrorKind::kFormat, "is [16, 11], expected");
  EXPECT_ERROR(reshaped("model.layers.0.post_attention_layernorm.weight", {15}), ErrorKind::kFormat, "expected [16]");
  EXPECT_ERROR(reshaped("model.norm.weight", {4, 4}), ErrorKind::kFormat, "expected [16]");
  EXPECT_ERROR(reshaped("model.embed_tokens.weight", {208}), ErrorKind::kFormat, "model.embed_tokens.weight");
  EXPECT_ERROR(reshaped("lm_head.weight", {208}), ErrorKind::kFormat, "'lm_head.weight' is [208], expected");
  EXPECT_ERROR(reshaped("lm_head.weight", {13, 15}), ErrorKind::kFormat, "'lm_head.weight' is [13, 15], expected");
  EXPECT_ERROR(reshaped("model.embed_tokens.weight", {0, 16}), ErrorKind::kFormat, "expected [vocabulary, width]");
}

TEST(ForwardRefusals, AnEmbeddingWhoseBlocksHaveFactors) {
  const TinyLlama tiny;
  test::SafetensorsWriter writer;
  for (const auto& [name, shape] : tiny.shapes) {
    if (name == "model.embed_tokens.weight") {
      writer.add_raw(name, "F8_E4M3", shape, std::string(13 * 16, '\x38')).add(name + "_scale_inv", {1, 1}, {2});
    } else {
      writer.add(name, shape, tiny.values.at(name));
    }
  }
  const TemporaryFolder folder;
  folder.write("config.json", tiny.config);
  folder.write("model.safetensors", writer.str());
  EXPECT_ERROR(run(Model::open(folder.path()), {some_tokens(3, 10)}), ErrorKind::kUnsupported,
               "has an embedding in FP8 blocks");
}

TEST(ForwardRefusals, FamiliesWithoutAForwardPass) {
  TinyGpt2 tiny;  // has no MLP, no positions and no last norm
  const TemporaryFolder folder;
  tiny.write(folder);
  EXPECT_ERROR(run(Model::open(folder.path()), {some_tokens(3, 5)}), ErrorKind::kFormat,
               "which is needed to run the model");
  const Model other = Model::open(kGolden + "families/longformer");
  EXPECT_ERROR(run(other, {some_tokens(3, 5)}), ErrorKind::kUnsupported,
               "headscope cannot run this model, but relate works");
}

TEST(ForwardRefusals, TablesOfPositionsThatCannotBeStretched) {
  const auto with_positions = [](std::size_t rows) {
    // The file's bytes with another table are not worth writing: a model of one layer with the same names is.
    test::SafetensorsWriter writer;
    writer.add("embeddings.cls_token", {1, 1, 8}).add("embeddings.position_embeddings", {1, rows, 8});
    writer.add("embeddings.patch_embeddings.projection.weight", {8, 3, 4, 4});
    const std::string layer = "encoder.layer.0.";
    for (const char* name : {"attention.attention.query", "attention.attention.key", "attention.attention.value",
                             "attention.output.dense", "mlp.fc1", "mlp.fc2"}) {
      writer.add(layer + name + ".weight", {8, 8});
    }
    for (const char* name : {"norm1.weight", "norm2.weight", "layer_scale1.lambda1", "layer_scale2.lambda1"}) {
      writer.add(layer + name, {8});
    }
    writer.add("layernorm.weight", {8});
    const TemporaryFolder folder;
    folder.write("model.safetensors", writer.str());
    folder.write("config.json", R"({"model_type": "dinov2", "hidden_size": 8, "num_hidden_layers": 1,
      "num_attention_heads": 2, "image_size": 16, "patch_size": 4, "mlp_ratio": 1})");
    run(Model::open(folder.path()), {{.pixels = pixels(3, 8, 8)}});
  };
  with_positions(17);
  EXPECT_ERROR(with_positions(16), ErrorKind::kUnsupported, "15 position embeddings do not form a square");
  EXPECT_ERROR(with_positions(1), ErrorKind::kFormat, "the model has positions for 0");
  EXPECT_ERROR(with_positions(0), ErrorKind::kFormat, "position_embeddings");
}

// The arrays come from transformers: tests/golden/make_dinov2_sizes.py.
TEST(ForwardSizes, DinoOnOtherSizesAgreesWithTransformers) {
  const Model model = Model::open(kGolden + "forward/dinov2");
  const NpzFile file = NpzFile::open(kGolden + "dinov2_sizes.npz");
  for (const std::string size : {"24x24", "8x8", "24x12", "8x32", "21x18"}) {
    const auto in = file.find("pixels_" + size);
    const auto out = file.find("output_" + size);
    ASSERT_TRUE(in && out) << size;
    const Shape& shape = in->view().shape;
    const std::vector<float> expected = npy_values<float>(out->view(), size);
    const ModelInput input{.pixels = {shape[0], shape[1], shape[2], npy_values<float>(in->view(), size)}};
    ForwardOptions options;
    double worst = 0;
    double largest = 0;
    options.on_output = [&](const OutputRows& rows) {
      ASSERT_EQ(rows.rows * rows.values.columns(), expected.size()) << size;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double found = static_cast<double>(rows.values(i / rows.values.columns(), i % rows.values.columns()));
        worst = std::max(worst, std::abs(found - static_cast<double>(expected[i])));
        largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
      }
    };
    run_forward(model, std::span(&input, 1), options);
    EXPECT_GT(largest, 0.1);
    EXPECT_LT(worst, 1e-4 * largest) << size;
  }
}

}  // namespace
}  // namespace headscope
