#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// The attention of a Llama with seven layers, six heads of width 16 on three KV heads, and 64 dimensions: enough
/// layers that several ranks have several each, but not the same number.
class DeepLlama {
 public:
  static constexpr std::size_t kLayers = 7, kWidth = 64, kHeads = 6, kKvHeads = 3, kHead = 16;

  DeepLlama() {
    SafetensorsWriter writer;
    std::uint64_t seed = 1;
    const auto add = [&](const std::string& name, const Shape& shape) {
      writer.add(name, shape, normals(*element_count(shape), seed++));
    };
    for (std::size_t i = 0; i < kLayers; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".";
      add(layer + "self_attn.q_proj.weight", {kHeads * kHead, kWidth});
      add(layer + "self_attn.k_proj.weight", {kKvHeads * kHead, kWidth});
      add(layer + "self_attn.v_proj.weight", {kKvHeads * kHead, kWidth});
      add(layer + "self_attn.o_proj.weight", {kWidth, kHeads * kHead});
      add(layer + "input_layernorm.weight", {kWidth});
    }
    add("model.embed_tokens.weight", {11, kWidth});
    folder_.write("config.json", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 7,
      "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 16, "intermediate_size": 8, "vocab_size": 11,
      "rms_norm_eps": 1e-5, "tie_word_embeddings": true})");
    folder_.write("model.safetensors", writer.str());
  }

  [[nodiscard]] Model open() const { return Model::open(folder_.path()); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace headscope::test
