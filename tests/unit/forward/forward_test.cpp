// Attention maps and outputs of tiny checkpoints of every family, against Hugging Face transformers run with eager
// attention. tests/golden/make_forward.py, make_forward_gguf.py, make_families.py and
// make_towers.py make both.

#include "headscope/forward/forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/io/json.h"
#include "headscope/io/npz.h"
#include "headscope/model/network.h"
#include "support/tower_case.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden";

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
  explicit Case(const std::string& name)
      : place_(testing_support::tower_case(kGolden / name)),
        folder_(place_.folder),
        model_(Model::open(path(), {.tower = place_.tower})) {
    std::string shared = folder_.filename().string();
    std::string arrays = place_.tower.empty() ? "expected.npz" : "expected_" + place_.tower + ".npz";
    bool takes_ids = true;
    if (fs::exists(folder_ / "case.json")) {
      const JsonDocument about = JsonDocument::open(folder_ / "case.json");
      shared = about.root().find("expected").as_string().value_or(shared);
      takes_ids = about.root().find("input").as_string() == "ids";
      arrays = about.root().find("arrays").as_string().value_or(arrays);
    } else if (shared.starts_with("gguf_")) {  // of families/
      shared = shared.substr(5);
    }
    const NpzFile file = NpzFile::open(folder_.parent_path() / shared / arrays);
    if (file.find("pixel_values")) takes_ids = false;
    if (file.find("scores")) expected_scores = read(file, "scores");
    expected_pattern = read(file, "attentions");
    expected_output = read(file, "output");
    if (takes_ids) {
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
    maps.scores.resize(expected_pattern.values.size(), -1e30F);
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

  testing_support::TowerCase place_;
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

// Softmax of the scores of the keys that a query attends to. With sinks, all together have what the pattern gives them.
std::vector<float> softmax_of(const std::vector<float>& scores, const std::vector<float>& pattern, std::size_t keys,
                              bool sinks) {
  std::vector<float> result(scores.size());
  for (std::size_t first = 0; first < scores.size(); first += keys) {
    double sum = 0;
    double most = -1e30;
    for (std::size_t i = first; i < first + keys; ++i) {
      if (pattern[i] > 0) most = std::max(most, static_cast<double>(scores[i]));
    }
    const auto power = [&](std::size_t i) {
      return pattern[i] > 0 ? std::exp(static_cast<double>(scores[i]) - most) : 0;
    };
    for (std::size_t i = first; i < first + keys; ++i) sum += power(i);
    const auto begin = pattern.begin() + static_cast<std::ptrdiff_t>(first);
    if (sinks) sum /= std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(keys), 0.0);
    for (std::size_t i = first; i < first + keys; ++i) result[i] = static_cast<float>(power(i) / sum);
  }
  return result;
}

// "forward/llama", "families/olmo2", ...
// GGUF files of the BERT family lack the head of the language model.
bool same_output(const Model& model) {
  const std::string& family = model.info().family;
  return !model.checkpoint().is_gguf() || (family != "modernbert" && family != "nomic_bert");
}

std::vector<std::string> cases() {
  std::vector<std::string> names = testing_support::tower_cases(kGolden / "towers");
  std::erase_if(names, [](const std::string& name) {
    const auto [folder, tower] = testing_support::tower_case(kGolden / name);
    return !NpzFile::open(folder / ("expected_" + tower + ".npz")).find("attentions");
  });
  for (const std::string folder : {"forward", "families"}) {
    for (const auto& entry : fs::directory_iterator(kGolden / folder)) {
      const fs::path arrays = entry.path() / "expected.npz";
      const bool heads_only = fs::exists(arrays) && folder == "families" && fs::exists(entry.path() / "config.json") &&
                              !NpzFile::open(arrays).find("attentions");
      // Heads only: no forward pass of what is in the file.
      const fs::path name = entry.path().filename();
      const bool only_related = folder == "families" && name == "gguf_t5";
      if (!heads_only && !only_related) names.push_back(folder + "/" + entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool has_sinks(const Model& model) {
  return resolve_network(model).layers.front().sinks != nullptr;
}

class ForwardCase : public testing::TestWithParam<std::string> {};

TEST_P(ForwardCase, AgreesWithTransformers) {
  const Case one(GetParam());
  const Maps maps = one.run();
  EXPECT_LT(largest_difference(maps.pattern, one.expected_pattern.values), 2e-5);
  if (one.expected_scores.values.empty()) {
    const std::vector<float> softmax =
        softmax_of(maps.scores, one.expected_pattern.values, one.expected_pattern.shape.back(), has_sinks(one.model()));
    EXPECT_LT(largest_difference(softmax, one.expected_pattern.values), 2e-5);
  } else {
    EXPECT_LT(largest_difference(maps.scores, one.expected_scores.values),
              2e-6 * std::max(1.0, largest(one.expected_scores.values)) * 4);
  }
  if (std::getenv("HEADSCOPE_PRINT_DIFFERENCES") != nullptr) {
    std::printf("%s: maps %.2g, output %.2g\n", GetParam().c_str(),
                largest_difference(maps.pattern, one.expected_pattern.values),
                largest_difference(maps.output, one.expected_output.values) / largest(one.expected_output.values));
  }
  if (!same_output(one.model())) return;
  EXPECT_LT(largest_difference(maps.output, one.expected_output.values), 1e-4 * largest(one.expected_output.values));
}

TEST_P(ForwardCase, RequestedRowsOfTheOutputAreThoseOfAllRows) {
  const Case one(GetParam());
  if (!same_output(one.model())) GTEST_SKIP() << "the reference has another output";
  const std::vector<float> all = one.run().output;
  const std::vector<float> some = one.run({.first_output = 2, .end_output = 4}).output;
  const Shape& shape = one.expected_output.shape;  // [input, token, value], or [input, class]
  const std::size_t width = shape.back();
  const double tolerance = 1e-6 * largest(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = shape.size() == 3 ? i / width % shape[1] : 2;
    if (row == 2 || row == 3) {
      EXPECT_NEAR(some[i], all[i], tolerance);
    } else {
      EXPECT_EQ(some[i], -1e30F) << "row " << row << " was not requested";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ForwardCase, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.substr(one.param.find('/') + 1); });

}  // namespace
}  // namespace headscope
