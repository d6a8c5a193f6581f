#pragma once

#include <map>
#include <string>

#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// A GPT-2 with two layers, two heads and width 4. A test can remove or replace tensors before it is written.
struct TinyGpt2 {
  std::string config = R"({"model_type": "gpt2", "n_embd": 4, "n_layer": 2, "n_head": 2})";
  std::map<std::string, Shape> shapes = {
      {"transformer.h.0.attn.c_attn.weight", {4, 12}},
      {"transformer.h.0.attn.c_proj.weight", {4, 4}},
      {"transformer.h.0.ln_1.weight", {4}},
      {"transformer.h.1.attn.c_attn.weight", {4, 12}},
      {"transformer.h.1.attn.c_proj.weight", {4, 4}},
      {"transformer.h.1.ln_1.weight", {4}},
      {"transformer.wte.weight", {7, 4}},
  };
  std::map<std::string, std::vector<float>> values;  ///< Tensors not named here are zero.

  [[nodiscard]] std::string safetensors() const {
    SafetensorsWriter writer;
    for (const auto& [name, shape] : shapes) {
      const auto found = values.find(name);
      writer.add(name, shape, found == values.end() ? std::vector<float>() : found->second);
    }
    return writer.str();
  }
  /// Writes config.json and model.safetensors.
  void write(const TemporaryFolder& folder) const {
    folder.write("config.json", config);
    folder.write("model.safetensors", safetensors());
  }
};

}  // namespace headscope::test
