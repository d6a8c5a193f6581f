#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/io/json.h"
#include "headscope/io/npz.h"

namespace headscope::test {

inline const std::filesystem::path kForwardCases = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/forward";

/// Folder or GGUF file of a test case in tests/golden/forward.
inline std::filesystem::path golden_model(const std::string& name) {
  const std::filesystem::path folder = kForwardCases / name;
  return std::filesystem::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
}

/// Inputs as the golden arrays hold them: ids or pixels.
inline std::vector<ModelInput> inputs_of(const NpzFile& file) {
  std::vector<ModelInput> inputs;
  if (const auto ids = file.find("input_ids")) {
    const std::size_t n = ids->view().shape[1];
    for (const std::int64_t id : npy_values<std::int64_t>(ids->view(), "input_ids")) {
      if (inputs.empty() || inputs.back().ids.size() == n) inputs.emplace_back();
      inputs.back().ids.push_back(static_cast<std::uint32_t>(id));
    }
    return inputs;
  }
  const auto pixels = file.find("pixel_values");
  const Shape& shape = pixels->view().shape;
  const std::vector<float> values = npy_values<float>(pixels->view(), "pixel_values");
  const std::size_t size = shape[1] * shape[2] * shape[3];
  for (std::size_t i = 0; i < shape[0]; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * size);
    inputs.push_back({.pixels = {shape[1], shape[2], shape[3],
                                 std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(size))}});
  }
  return inputs;
}

/// The inputs of a case.
inline std::vector<ModelInput> golden_inputs(const std::string& name) {
  const JsonDocument about = JsonDocument::open(kForwardCases / name / "case.json");
  const std::string shared(about.root().find("expected").as_string().value_or(name));
  const std::string arrays(about.root().find("arrays").as_string().value_or("expected.npz"));
  return inputs_of(NpzFile::open(kForwardCases / shared / arrays));
}

/// The concatenated outputs of all inputs.
inline std::vector<float> run_output(const Model& model, const std::vector<ModelInput>& inputs,
                                     const std::vector<HeadReplacement>& replacements = {}) {
  std::vector<std::vector<float>> outputs(inputs.size());
  ForwardOptions options;
  options.replacements = replacements;
  options.on_output = [&](const OutputRows& rows) {
    std::vector<float>& output = outputs[rows.input];
    output.resize(rows.rows * rows.values.columns());
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      for (std::size_t j = 0; j < rows.values.columns(); ++j) {
        output[(rows.first_row + i) * rows.values.columns() + j] = rows.values(i, j);
      }
    }
  };
  run_forward(model, inputs, options);
  std::vector<float> all;
  for (const auto& output : outputs) all.insert(all.end(), output.begin(), output.end());
  return all;
}

}  // namespace headscope::test
