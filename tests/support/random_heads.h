#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "headscope/model/model.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// A GPT-2 or a Llama (without grouped queries) of six layers, eight heads of width 8 and 64 dimensions, with random
/// weights. The variance of coordinate i of the residual stream is `spectrum(i)` in every matrix: heads as anisotropic
/// as those of trained models, but without any wiring.
class RandomHeads {
 public:
  static constexpr std::size_t kLayers = 6, kWidth = 64, kHeads = 8;

  explicit RandomHeads(
      bool layer_norm, std::uint64_t seed,
      const std::function<double(std::size_t)>& spectrum = [](std::size_t) { return 1.0; }) {
    SafetensorsWriter writer;
    seed *= 1000;
    // The residual stream is axis 0 or axis 1 of a matrix.
    const auto add = [&](const std::string& name, std::size_t rows, std::size_t columns, bool stream_is_first) {
      std::vector<float> values = normals(rows * columns, ++seed);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] *= static_cast<float>(std::sqrt(spectrum(stream_is_first ? i / columns : i % columns)));
      }
      writer.add(name, {rows, columns}, values);
    };
    const std::vector<float> ones(kWidth, 1.0F);
    for (std::size_t i = 0; i < kLayers; ++i) {
      const std::string number = std::to_string(i);
      if (layer_norm) {
        add("transformer.h." + number + ".attn.c_attn.weight", kWidth, 3 * kWidth, true);
        // What is written is axis 1: Conv1D stores [in, out].
        add("transformer.h." + number + ".attn.c_proj.weight", kWidth, kWidth, false);
        writer.add("transformer.h." + number + ".ln_1.weight", {kWidth}, ones);
      } else {
        for (const char* role : {"q", "k", "v"}) {
          add("model.layers." + number + ".self_attn." + role + "_proj.weight", kWidth, kWidth, false);
        }
        add("model.layers." + number + ".self_attn.o_proj.weight", kWidth, kWidth, true);
        writer.add("model.layers." + number + ".input_layernorm.weight", {kWidth}, ones);
      }
    }
    add(layer_norm ? "transformer.wte.weight" : "model.embed_tokens.weight", 11, kWidth, false);
    folder_.write("config.json", layer_norm ? R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 6, "n_head": 8})"
                                            : R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 6,
      "num_attention_heads": 8, "intermediate_size": 8, "vocab_size": 11, "rms_norm_eps": 1e-5,
      "tie_word_embeddings": true})");
    folder_.write("model.safetensors", writer.str());
  }

  [[nodiscard]] Model open() const { return Model::open(folder_.path()); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace headscope::test
