#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// A Llama with two layers, four heads of width 4 on two KV heads, 13 tokens, and seeded weights large enough that
/// attention is far from uniform. A test can remove or replace tensors before it is written.
struct TinyLlama {
  static constexpr std::size_t kWidth = 16, kHeads = 4, kKvHeads = 2, kHead = 4, kInner = 12, kVocabulary = 13;

  std::string config = R"({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 12, "vocab_size": 13, "rms_norm_eps": 1e-5,
    "rope_theta": 100, "bos_token_id": 1, "tie_word_embeddings": false})";
  std::map<std::string, Shape> shapes;
  std::map<std::string, std::vector<float>> values;

  TinyLlama() {
    add("model.embed_tokens.weight", {kVocabulary, kWidth}, 1);
    add("lm_head.weight", {kVocabulary, kWidth}, 0.5F);
    add("model.norm.weight", {kWidth}, 0);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".";
      add(layer + "self_attn.q_proj.weight", {kHeads * kHead, kWidth}, 0.5F);
      add(layer + "self_attn.k_proj.weight", {kKvHeads * kHead, kWidth}, 0.5F);
      add(layer + "self_attn.v_proj.weight", {kKvHeads * kHead, kWidth}, 0.3F);
      add(layer + "self_attn.o_proj.weight", {kWidth, kHeads * kHead}, 0.3F);
      add(layer + "mlp.gate_proj.weight", {kInner, kWidth}, 0.3F);
      add(layer + "mlp.up_proj.weight", {kInner, kWidth}, 0.3F);
      add(layer + "mlp.down_proj.weight", {kWidth, kInner}, 0.3F);
      add(layer + "input_layernorm.weight", {kWidth}, 0);
      add(layer + "post_attention_layernorm.weight", {kWidth}, 0);
    }
  }

  /// Writes config.json and model.safetensors.
  void write(const TemporaryFolder& folder) const {
    SafetensorsWriter writer;
    for (const auto& [name, shape] : shapes) writer.add(name, shape, values.at(name));
    folder.write("config.json", config);
    folder.write("model.safetensors", writer.str());
  }

 private:
  // Normal numbers with this standard deviation; ones if it is 0.
  void add(const std::string& name, const Shape& shape, float size) {
    std::vector<float> numbers = normals(static_cast<std::size_t>(*element_count(shape)), 40 + shapes.size());
    for (float& number : numbers) number = size == 0 ? 1 : number * size;
    shapes[name] = shape;
    values[name] = std::move(numbers);
  }
};

/// Random-looking token ids that are the same on all platforms.
inline ModelInput some_tokens(std::size_t count, std::uint32_t vocabulary, std::uint32_t seed = 1) {
  ModelInput input;
  std::uint32_t state = seed * 2654435761U + 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    input.ids.push_back((state >> 16) % vocabulary);
  }
  return input;
}

}  // namespace headscope::test
