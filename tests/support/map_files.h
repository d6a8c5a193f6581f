#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/io/npy.h"
#include "support/hidden_tensor.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// Writes a smooth, shuffled tensor of the given shape as NAME.npy.
inline std::filesystem::path write_maps(const TemporaryFolder& folder, const std::string& name,
                                        const std::vector<std::size_t>& shape, std::uint64_t seed = 1) {
  const std::size_t keys = shape.back();
  const std::size_t queries = shape[shape.size() - 2];
  std::size_t heads = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) heads *= shape[i];
  const HiddenTensor hidden({heads, queries, keys}, 3, 0.5, 0.02, seed);
  std::filesystem::path path = folder.path() / (name + ".npy");
  std::filesystem::create_directories(path.parent_path());
  write_npy<float>(path, hidden.values, shape);
  return path;
}

/// Writes a folder like the output of `capture`: scores.npy, their causal softmax as pattern.npy, tokens.json.
inline std::filesystem::path write_run(const TemporaryFolder& folder, std::size_t layers, std::size_t heads,
                                       std::size_t n) {
  std::filesystem::path run = folder.path() / "captured";
  write_maps(folder, "captured/scores", {layers * heads, n, n});
  const auto file = NpyFile::open(run / "scores.npy");
  std::vector<float> pattern = npy_values<float>(file.array(), "scores");
  for (std::size_t row = 0; row < layers * heads * n; ++row) {
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      float& entry = pattern[row * n + k];
      entry = k <= row % n ? std::exp(entry) : 0;
      sum += entry;
    }
    for (std::size_t k = 0; k < n; ++k) pattern[row * n + k] /= sum;
  }
  write_npy<float>(run / "pattern.npy", pattern, std::vector<std::size_t>{layers * heads, n, n});
  std::string names;
  for (std::size_t h = 0; h < layers * heads; ++h) {
    names += (h == 0 ? "\"L" : ", \"L") + std::to_string(h / heads) + "H" + std::to_string(h % heads) + "\"";
  }
  std::string tokens;
  for (std::size_t t = 0; t < n; ++t)
    tokens += (t == 0 ? "{\"text\": \"t" : ", {\"text\": \"t") + std::to_string(t) + "\"}";
  folder.write("captured/tokens.json",
               "{\"mask\": \"causal\", \"first_query\": 0, \"heads\": [" + names + "], \"tokens\": [" + tokens + "]}");
  return run;
}

}  // namespace headscope::test
