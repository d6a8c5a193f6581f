// Attention maps and outputs of tiny checkpoints of every family, against Hugging Face transformers run with eager
// attention. tests/golden/make_forward.py and make_forward_gguf.py make both.

#include "headscope/forward/forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/io/json.h"
#include "headscope/io/npz.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/forward";

struct Array {
  Shape shape;
  std::vector<float> values;
};

struct Maps {
  std::vector<float> scores;  // [layer, input, head, query, key]
  std::vector<float> pattern;
  std::vector<float> output;
};

class Case {
 public:
  explicit Case(const std::string& name) : folder_(kFolder / name), model_(Model::open(path())) {
    const JsonDocument about = JsonDocument::open(folder_ / "case.json");
    const std::string shared(about.root().find("expected").as_string().value_or(name));
    const NpzFile file = NpzFile::open(kFolder / shared / "expected.npz");
    expected_scores = read(file, "scores");
    expected_pattern = read(file, "attentions");
    expected_output = read(file, "output");
    if (about.root().find("input").as_string() == "ids") {
      const auto ids = file.find("input_ids");
      const std::size_t n = ids->view().shape[1];
      const std::vector<std::int64_t> values = npy_values<std::int64_t>(ids->view(), "input_ids");
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % n == 0) inputs.emplace_back();
        inputs.back().ids.push_back(static_cast<std::uint32_t>(values[i]));
      }
    } else {
      const Array pixels = read(file, "pixel_values");
      const std::size_t size = pixels.shape[1] * pixels.shape[2] * pixels.shape[3];
      for (std::size_t i = 0; i < pixels.shape[0]; ++i) {
        const auto begin = pixels.values.begin() + static_cast<std::ptrdiff_t>(i * size);
        inputs.push_back({.pixels = {pixels.shape[1], pixels.shape[2], pixels.shape[3],
                                     std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(size))}});
      }
    }
  }

  [[nodiscard]] const Model& model() const { return model_; }

  // Everything the pass says, put where the reference has it.
  [[nodiscard]] Maps run(ForwardOptions options = {}) const {
    const Shape& shape = expected_pattern.shape;
    Maps maps;
    maps.scores.resize(expected_scores.values.size(), -1e30F);
    maps.pattern.resize(expected_pattern.values.size(), -1e30F);
    maps.output.resize(expected_output.values.size(), -1e30F);
    const auto store = [&](std::vector<float>& to, const MapRows& rows) {
      EXPECT_EQ(rows.values.columns(), shape[4]);
      const std::size_t first = ((rows.layer * shape[1] + rows.input) * shape[2] + rows.head) * shape[3];
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < shape[4]; ++j) {
          to[(first + rows.first_query + i) * shape[4] + j] = rows.values(i, j);
        }
      }
    };
    options.on_scores = [&](const MapRows& rows) { store(maps.scores, rows); };
    options.on_pattern = [&](const MapRows& rows) { store(maps.pattern, rows); };
    options.on_output = [&](const OutputRows& rows) {
      const std::size_t width = rows.values.columns();
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          maps.output.at((rows.input * rows.rows + rows.first_row + i) * width + j) = rows.values(i, j);
        }
      }
    };
    run_forward(model_, inputs, options);
    return maps;
  }

  std::vector<ModelInput> inputs;
  Array expected_scores;
  Array expected_pattern;
  Array expected_output;

 private:
  [[nodiscard]] fs::path path() const { return fs::exists(folder_ / "model.gguf") ? folder_ / "model.gguf" : folder_; }
  static Array read(const NpzFile& file, const std::string& name) {
    const auto array = file.find(name);
    EXPECT_TRUE(array.has_value()) << name;
    return {array->view().shape, npy_values<float>(array->view(), name)};
  }

  fs::path folder_;
  Model model_;
};

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double largest_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  }
  return most;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class ForwardCase : public testing::TestWithParam<std::string> {};

TEST_P(ForwardCase, AgreesWithTransformers) {
  const Case one(GetParam());
  const Maps maps = one.run();
  EXPECT_LT(largest_difference(maps.pattern, one.expected_pattern.values), 2e-5);
  EXPECT_LT(largest_difference(maps.scores, one.expected_scores.values),
            2e-6 * std::max(1.0, largest(one.expected_scores.values)) * 4);
  EXPECT_LT(largest_difference(maps.output, one.expected_output.values), 1e-4 * largest(one.expected_output.values));
}

INSTANTIATE_TEST_SUITE_P(All, ForwardCase, testing::ValuesIn(cases()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace headscope
