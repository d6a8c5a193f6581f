// Mixtures of experts: which tensors are read, what is said of broken ones, and their neurons.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"
#include "headscope/model/stream_matrix.h"
#include "support/expect_error.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::some_tokens;
using test::TemporaryFolder;
using test::TinyLlama;

const std::string kFamilies = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/families/";

std::string expert(std::size_t layer, std::size_t number, const std::string& place) {
  return "model.layers." + std::to_string(layer) + ".block_sparse_moe.experts." + std::to_string(number) + "." + place +
         ".weight";
}

// TinyLlama with four experts in each layer. The routers are zero, so that every token uses experts 0 and 1.
TinyLlama mixture() {
  TinyLlama tiny;
  for (std::size_t layer = 0; tiny.shapes.contains("model.layers." + std::to_string(layer) + ".mlp.up_proj.weight");
       ++layer) {
    const std::string stem = "model.layers." + std::to_string(layer) + ".";
    const Shape up = tiny.shapes.at(stem + "mlp.up_proj.weight");
    const Shape down = tiny.shapes.at(stem + "mlp.down_proj.weight");
    const auto add = [&](const std::string& name, const Shape& shape, const std::vector<float>& values) {
      tiny.shapes[name] = shape;
      tiny.values[name] = values;
    };
    for (std::size_t e = 0; e < 4; ++e) {
      add(expert(layer, e, "w1"), up, tiny.values.at(stem + "mlp.gate_proj.weight"));
      add(expert(layer, e, "w3"), up, tiny.values.at(stem + "mlp.up_proj.weight"));
      add(expert(layer, e, "w2"), down, tiny.values.at(stem + "mlp.down_proj.weight"));
    }
    add(stem + "block_sparse_moe.gate.weight", {4, up[1]}, std::vector<float>(4 * up[1]));
    for (const char* name : {"up_proj", "gate_proj", "down_proj"}) {
      tiny.shapes.erase(stem + "mlp." + name + ".weight");
      tiny.values.erase(stem + "mlp." + name + ".weight");
    }
  }
  return tiny;
}

std::vector<float> output_of(const Model& model) {
  std::vector<float> output;
  ForwardOptions options;
  options.on_output = [&](const OutputRows& rows) {
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      for (std::size_t j = 0; j < rows.values.columns(); ++j) output.push_back(rows.values(i, j));
    }
  };
  run_forward(model, std::vector<ModelInput>{some_tokens(7, 13)}, options);
  return output;
}

std::vector<float> output_of(const TinyLlama& tiny, const std::string& family) {
  const TemporaryFolder folder;
  tiny.write(folder);
  return output_of(Model::open(folder.path(), {.family = family}));
}

TEST(Experts, EqualOnesAreThePlainMlp) {
  const std::vector<float> mixed = output_of(mixture(), "mixtral");
  const std::vector<float> plain = output_of(TinyLlama(), "llama");
  ASSERT_EQ(mixed.size(), plain.size());
  for (std::size_t i = 0; i < mixed.size(); ++i) EXPECT_NEAR(mixed[i], plain[i], 1e-5 * (1 + std::abs(plain[i])));
}

TEST(Experts, OnlyThoseThatATokenUsesAreRead) {
  TinyLlama tiny = mixture();
  tiny.values.at(expert(0, 2, "w1"))[3] = std::numeric_limits<float>::quiet_NaN();
  tiny.values.at(expert(1, 3, "w2"))[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(output_of(tiny, "mixtral"), output_of(mixture(), "mixtral"));
  tiny.values.at(expert(0, 1, "w3"))[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(output_of(tiny, "mixtral"), ErrorKind::kNumeric, "holds NaN or Inf");
}

TEST(Experts, ThatAreMissingOrMisshapenAreNamed) {
  const auto with = [](const std::function<void(TinyLlama&)>& change) {
    TinyLlama tiny = mixture();
    change(tiny);
    return output_of(tiny, "mixtral");
  };
  const std::string name = expert(1, 3, "w2");
  EXPECT_ERROR(with([&](TinyLlama& tiny) { tiny.shapes.erase(name); }), ErrorKind::kFormat,
               "lacks tensor '" + name + "'");
  EXPECT_ERROR(with([&](TinyLlama& tiny) { std::swap(tiny.shapes[name][0], tiny.shapes[name][1]); }),
               ErrorKind::kFormat, "'" + name + "' is ");
  EXPECT_ERROR(with([&](TinyLlama& tiny) { tiny.shapes.erase("model.layers.0.block_sparse_moe.gate.weight"); }),
               ErrorKind::kFormat, "lacks tensor 'model.layers.0.mlp.gate.weight'");
  EXPECT_ERROR(with([&](TinyLlama& tiny) {
                 const std::string router = "model.layers.0.block_sparse_moe.gate.weight";
                 tiny.shapes[router] = {1, tiny.shapes[router][1]};
                 tiny.values[router].resize(tiny.shapes[router][1]);
               }),
               ErrorKind::kFormat, "says that a token uses 2 experts, expected 1 to 1");
}

// The vector of a neuron, as stored.
std::vector<float> neuron(const Model& model, StreamPart part, std::size_t index,
                          std::optional<std::size_t> expert = std::nullopt) {
  const Network network = resolve_network(model);
  StreamMatrix matrix(model, network, part, 0, WeightProcessing::kRaw, expert);
  std::vector<float> vector(model.info().sizes.d_model);
  matrix.read(index, 1, vector);
  return vector;
}

// gpt-oss stores [experts, d, 2 hidden] with gate and up in turns, and [experts, hidden, d].
TEST(Experts, NeuronsAreThoseOfAllExpertsInOrder) {
  const Model model = Model::open(kFamilies + "gpt_oss");
  const Network network = resolve_network(model);
  const StoredExperts& experts = *network.layers[0].experts;
  const std::size_t d = model.info().sizes.d_model;
  const std::size_t hidden = experts.hidden();
  EXPECT_EQ(network.layers[0].neurons(), 4 * hidden);
  const Checkpoint& checkpoint = model.checkpoint();
  const auto stored = [&](const char* name) {
    return read_vector(checkpoint, *checkpoint.find(std::string("model.layers.0.mlp.experts.") + name));
  };
  const std::vector<float> up = stored("gate_up_proj");
  const std::vector<float> down = stored("down_proj");
  for (const std::size_t e : {0u, 3u}) {
    const std::size_t n = 5;
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t row = (e * d + j) * 2 * hidden;
      EXPECT_EQ(neuron(model, StreamPart::kMlpIn, e * hidden + n)[j], up[row + 2 * n]);
      EXPECT_EQ(neuron(model, StreamPart::kMlpIn, (4 + e) * hidden + n)[j], up[row + 2 * n + 1]);
      EXPECT_EQ(neuron(model, StreamPart::kMlpIn, hidden + n, e)[j], up[row + 2 * n + 1]);
      EXPECT_EQ(neuron(model, StreamPart::kMlpOut, e * hidden + n)[j], down[(e * hidden + n) * d + j]);
      EXPECT_EQ(neuron(model, StreamPart::kMlpOut, n, e)[j], down[(e * hidden + n) * d + j]);
    }
  }
}

TEST(Experts, TheSharedOneComesLast) {
  const Model model = Model::open(kFamilies + "qwen2_moe");
  const Network network = resolve_network(model);
  const StoredExperts& experts = *network.layers[0].experts;
  EXPECT_EQ(network.layers[0].neurons(), 4 * experts.hidden() + experts.shared->down.in());
  const std::size_t d = model.info().sizes.d_model;
  const Checkpoint& checkpoint = model.checkpoint();
  const std::vector<float> up =
      read_vector(checkpoint, *checkpoint.find("model.layers.0.mlp.shared_expert.up_proj.weight"));
  const std::size_t ups = network.layers[0].neurons();
  EXPECT_EQ(
      neuron(model, StreamPart::kMlpIn, ups + 4 * experts.hidden() + 1),
      std::vector<float>(up.begin() + static_cast<std::ptrdiff_t>(d), up.begin() + 2 * static_cast<std::ptrdiff_t>(d)));
  EXPECT_EQ(StreamMatrix(model, network, StreamPart::kMlpOut, 0, WeightProcessing::kRaw, 4).count(),
            experts.shared->down.in());
}

}  // namespace
}  // namespace headscope
