#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::SafetensorsWriter;
using test::TemporaryFolder;
using test::TinyGpt2;

TEST(Quantization, NamesQuantizationsItDoesNotDecode) {
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

TEST(Quantization, RefusesWeightsStoredAsIntegers) {
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

TEST(Quantization, MultipliesFp8ByItsBlockScales) {
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

TEST(Quantization, AcceptsOneFp8ScaleForAWholeTensor) {
  const TemporaryFolder folder;
  write_fp8(folder, R"({"model_type": "llama", "num_attention_heads": 1})", {}, {0.5});
  EXPECT_EQ(Model::open(folder.path()).load_heads(0, Role::kQ, WeightProcessing::kRaw).head(0)(5, 3), 0.5);
}

TEST(Quantization, RefusesFp8CodesWithoutTheScaleThatTheConfigPromises) {
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

TEST(Quantization, RefusesFp8ScalesThatDoNotCoverTheTensor) {
  const TemporaryFolder folder;
  write_fp8(folder, R"({"model_type": "llama", "num_attention_heads": 1})", {2, 2}, {1, 1, 1, 1});
  EXPECT_ERROR(Model::open(folder.path()).load_heads(0, Role::kQ), ErrorKind::kFormat,
               "is [2, 2], expected one factor per block of [128, 128] of [4, 6]");
}

}  // namespace
}  // namespace headscope
