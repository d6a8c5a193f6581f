// Maps and outputs of tiny models with an encoder and a decoder, against Hugging Face transformers run with eager
// attention. tests/golden/make_encoder_decoder.py makes them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/forward/forward.h"
#include "headscope/io/npz.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kFamilies = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/families";

struct Array {
  Shape shape;
  std::vector<float> values;
};

Array read(const NpzFile& file, const std::string& name) {
  const auto array = file.find(name);
  EXPECT_TRUE(array.has_value()) << name;
  return {array->view().shape, npy_values<float>(array->view(), name)};
}

std::vector<std::uint32_t> read_ids(const NpzFile& file, const std::string& name) {
  std::vector<std::uint32_t> ids;
  for (const std::int64_t id : npy_values<std::int64_t>(file.find(name)->view(), name)) {
    ids.push_back(static_cast<std::uint32_t>(id));
  }
  return ids;
}

class Case {
 public:
  explicit Case(const std::string& name)
      : model_(Model::open(kFamilies / name)), file_(NpzFile::open(kFamilies / name / "expected.npz")) {
    if (file_.find("input_ids")) {
      input.ids = read_ids(file_, "input_ids");
    } else {
      const Array features = read(file_, "input_features");
      input.audio = {features.shape[1], features.shape[2], features.values};
    }
    input.target = read_ids(file_, "target_ids");
    for (const Block block : kNamedBlocks) {
      expected[block] = read(file_, std::string(to_string(block)) + "_attentions");
    }
    expected_output = read(file_, "output");
  }

  [[nodiscard]] const Model& model() const { return model_; }

  struct Maps {
    std::map<Block, std::vector<float>> scores;  // [layer, head, query, key]
    std::map<Block, std::vector<float>> pattern;
    std::vector<float> output;
  };
  [[nodiscard]] Maps run(ForwardOptions options = {}, const std::vector<ModelInput>& inputs = {}) const {
    Maps maps;
    for (const auto& [block, array] : expected) {
      maps.scores[block].resize(array.values.size(), -1e30F);
      maps.pattern[block].resize(array.values.size(), -1e30F);
    }
    maps.output.resize(expected_output.values.size(), -1e30F);
    const auto store = [&](std::map<Block, std::vector<float>>& to, const MapRows& rows) {
      if (rows.input > 0) return;
      const BlockLayer place = model_.info().sizes.place(rows.layer);
      const Shape& shape = expected.at(place.block).shape;  // [layer, 1, head, query, key]
      ASSERT_EQ(rows.values.columns(), shape[4]);
      const std::size_t first = (place.layer * shape[2] + rows.head) * shape[3] + rows.first_query;
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < shape[4]; ++j) {
          to.at(place.block).at((first + i) * shape[4] + j) = rows.values(i, j);
        }
      }
    };
    options.on_scores = [&](const MapRows& rows) { store(maps.scores, rows); };
    options.on_pattern = [&](const MapRows& rows) { store(maps.pattern, rows); };
    options.on_output = [&](const OutputRows& rows) {
      if (rows.input > 0) return;
      const std::size_t width = rows.values.columns();
      EXPECT_EQ(rows.rows, input.target.size());
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          maps.output.at((rows.first_row + i) * width + j) = rows.values(i, j);
        }
      }
    };
    run_forward(model_, inputs.empty() ? std::vector{input} : inputs, options);
    return maps;
  }

  ModelInput input;
  std::map<Block, Array> expected;
  Array expected_output;

 private:
  Model model_;
  NpzFile file_;
};

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double largest_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double most = found.size() == expected.size() ? 0 : 1e30;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    most = std::max(most, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  }
  return most;
}

// Softmax of the scores of the keys that a query attends to.
std::vector<float> softmax_of(std::vector<float> scores, const std::vector<float>& pattern, std::size_t keys) {
  for (std::size_t first = 0; first < scores.size(); first += keys) {
    double sum = 0;
    for (std::size_t i = first; i < first + keys; ++i) sum += pattern[i] > 0 ? std::exp(scores[i]) : 0;
    for (std::size_t i = first; i < first + keys; ++i) {
      scores[i] = pattern[i] > 0 ? static_cast<float>(std::exp(scores[i]) / sum) : 0;
    }
  }
  return scores;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFamilies)) {
    const fs::path arrays = entry.path() / "expected.npz";
    if (fs::exists(arrays) && fs::exists(entry.path() / "config.json") && NpzFile::open(arrays).find("target_ids")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class EncoderDecoder : public testing::TestWithParam<std::string> {};

TEST_P(EncoderDecoder, AgreesWithTransformers) {
  const Case one(GetParam());
  const Case::Maps maps = one.run();
  for (const auto& [block, array] : one.expected) {
    EXPECT_LT(largest_difference(maps.pattern.at(block), array.values), 2e-5) << to_string(block);
    const std::vector<float> softmax = softmax_of(maps.scores.at(block), array.values, array.shape.back());
    EXPECT_LT(largest_difference(softmax, array.values), 2e-5) << to_string(block);
    if (std::getenv("HEADSCOPE_PRINT_DIFFERENCES") != nullptr) {
      std::printf("%s %s: maps %.2g\n", GetParam().c_str(), std::string(to_string(block)).c_str(),
                  largest_difference(maps.pattern.at(block), array.values));
    }
  }
  EXPECT_LT(largest_difference(maps.output, one.expected_output.values), 1e-4 * largest(one.expected_output.values));
}

TEST_P(EncoderDecoder, RequestedRowsOfTheOutputAreThoseOfAllRows) {
  const Case one(GetParam());
  const std::vector<float> all = one.run().output;
  const std::vector<float> some = one.run({.first_output = 2, .end_output = 4}).output;
  const std::size_t width = one.expected_output.shape.back();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i / width == 2 || i / width == 3) {
      EXPECT_NEAR(some[i], all[i], 1e-6 * largest(all));
    } else {
      EXPECT_EQ(some[i], -1e30F);
    }
  }
}

TEST_P(EncoderDecoder, InputsOfOtherLengthsInTheSameBatchDoNotMatter) {
  const Case one(GetParam());
  ModelInput shorter = one.input;
  shorter.target.resize(4);
  if (!shorter.ids.empty()) shorter.ids.resize(5);
  const Case::Maps alone = one.run();
  const Case::Maps together = one.run({}, {one.input, shorter, one.input});
  for (const auto& [block, array] : one.expected) {
    EXPECT_LT(largest_difference(together.pattern.at(block), alone.pattern.at(block)), 1e-6) << to_string(block);
  }
}

TEST_P(EncoderDecoder, HeadsOfTheEncoderDoNotNeedTheDecoder) {
  const Case one(GetParam());
  std::size_t seen = 0;
  ForwardOptions options{.end_layer = one.model().info().sizes.encoder_layers};
  options.on_pattern = [&](const MapRows& rows) {
    EXPECT_EQ(one.model().info().sizes.place(rows.layer).block, Block::kEncoder);
    ++seen;
  };
  run_forward(one.model(), std::vector{one.input}, options);
  EXPECT_GT(seen, 0);
}

TEST_P(EncoderDecoder, AnInputWithoutATargetIsRefused) {
  Case one(GetParam());
  one.input.target.clear();
  EXPECT_ERROR(token_counts(one.model(), one.input), ErrorKind::kFormat, "has no target");
}

INSTANTIATE_TEST_SUITE_P(All, EncoderDecoder, testing::ValuesIn(cases()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace headscope
