#include "headscope/relate/overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/relate/component_graph.h"
#include "support/expect_error.h"
#include "support/tiny_gpt2.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using Vectors = std::vector<std::vector<double>>;

// Rows of a stored matrix, or its columns.
Vectors rows(const std::vector<float>& values, std::size_t width, std::size_t first = 0, std::size_t count = 0) {
  Vectors found;
  const std::size_t end = count == 0 ? values.size() / width : first + count;
  for (std::size_t i = first; i < end; ++i) {
    found.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i * width),
                       values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  }
  return found;
}

Vectors columns(const std::vector<float>& values, std::size_t width, std::size_t first = 0, std::size_t count = 0) {
  Vectors found;
  for (std::size_t j = first; j < (count == 0 ? width : first + count); ++j) {
    found.emplace_back();
    for (std::size_t i = 0; i < values.size() / width; ++i) {
      found.back().push_back(static_cast<double>(values[i * width + j]));
    }
  }
  return found;
}

Vectors joined(Vectors a, const Vectors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Vectors times(Vectors vectors, const std::vector<float>& factors) {
  for (std::vector<double>& one : vectors) {
    for (std::size_t i = 0; i < one.size(); ++i) one[i] *= static_cast<double>(factors[i]);
  }
  return vectors;
}

// Subtracts the mean vector.
Vectors centered(Vectors vectors) {
  const std::size_t d = vectors.front().size();
  for (std::size_t i = 0; i < d; ++i) {
    double mean = 0;
    for (const std::vector<double>& one : vectors) mean += one[i] / static_cast<double>(vectors.size());
    for (std::vector<double>& one : vectors) one[i] -= mean;
  }
  return vectors;
}

// Subtracts the mean of every vector.
Vectors without_ones(Vectors vectors) {
  for (std::vector<double>& one : vectors) {
    double mean = 0;
    for (const double value : one) mean += value / static_cast<double>(one.size());
    for (double& value : one) value -= mean;
  }
  return vectors;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gram-Schmidt, twice.
Vectors basis(const Vectors& vectors) {
  Vectors found;
  for (std::vector<double> one : vectors) {
    const double before = std::sqrt(dot(one, one));
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& other : found) {
        const double along = dot(one, other);
        for (std::size_t i = 0; i < one.size(); ++i) one[i] -= along * other[i];
      }
    }
    const double length = std::sqrt(dot(one, one));
    if (length <= 1e-5 * before || length == 0) continue;
    for (double& value : one) value /= length;
    found.push_back(one);
  }
  return found;
}

double inner(const Vectors& a, const Vectors& b) {
  double sum = 0;
  for (const auto& x : a) {
    for (const auto& y : b) sum += dot(x, y) * dot(x, y);
  }
  return sum;
}

double square(const Vectors& a) {
  double sum = 0;
  for (const auto& x : a) sum += dot(x, x);
  return sum;
}

// The definition: d ||A^T B||_F^2 / (||A||_F^2 ||B||_F^2).
double overlap(const Vectors& a, const Vectors& b) {
  return static_cast<double>(a.front().size()) * inner(a, b) / (square(a) * square(b));
}

double pk(const Vectors& a, const Vectors& b) {
  const Vectors u = basis(a);
  const Vectors v = basis(b);
  return inner(u, v) / std::sqrt(static_cast<double>(u.size() * v.size()));
}

// The matrices of all components of a model, by role letter with its direction and name: "O L0H1", "<M L1M".
using Matrices = std::map<std::string, Vectors>;

void expect_scores(const Overlaps& found, const Matrices& expected, const std::set<std::string>& absent) {
  std::size_t compared = 0;
  for (const ComponentScores& scores : found.scores) {
    const ComponentSide& source = found.sources[scores.source];
    const ComponentSide& target = found.targets[scores.target];
    for (std::size_t i = 0; i < source.nodes.size(); ++i) {
      for (std::size_t j = 0; j < target.nodes.size(); ++j) {
        const std::string name =
            found.pair_name(scores) + " " + to_string(source.nodes[i]) + ">" + to_string(target.nodes[j]);
        SCOPED_TRACE(name);
        if (!precedes(source.nodes[i], target.nodes[j], found.parallel)) {
          EXPECT_TRUE(std::isnan(scores.overlap(i, j)));
          EXPECT_TRUE(std::isnan(scores.pk(i, j)));
          continue;
        }
        const Vectors& a = expected.at(std::string(1, source.letter) + " " + to_string(source.nodes[i]));
        const Vectors& b = expected.at(std::string("<") + target.letter + " " + to_string(target.nodes[j]));
        EXPECT_NEAR(scores.overlap(i, j), overlap(a, b), 2e-5);
        const bool has_pk =
            !absent.contains(std::string(1, source.letter)) && !absent.contains(std::string("<") + target.letter);
        EXPECT_EQ(!std::isnan(scores.pk(i, j)), has_pk);
        EXPECT_TRUE(!has_pk || std::abs(static_cast<double>(scores.pk(i, j)) - pk(a, b)) < 2e-5);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0U);
}

constexpr ComponentChoice kAll = {.mlp = true, .embedding = true, .position = true, .unembedding = true};

Overlaps compute(const Model& model, WeightProcessing weights, const ComponentChoice& choice = kAll,
                 const Context& context = {}) {
  AffinityOptions options;
  options.weights = weights;
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};
  return compute_overlaps(model, choice, compute_affinities(model, Metric::kPk, pairs, options).value(), options,
                          context);
}

class LlamaOverlap : public testing::Test {
 protected:
  LlamaOverlap() {
    std::size_t seed = 900;
    for (auto& [name, values] : llama_.values) {
      if (name.find("norm") == std::string::npos) continue;
      values = test::normals(values.size(), ++seed);
    }
  }

  [[nodiscard]] Model model() const {
    llama_.write(folder_);
    return Model::open(folder_.path());
  }

  [[nodiscard]] Matrices matrices(bool folded) const {
    Matrices all;
    const auto& values = llama_.values;
    const auto gain = [&](const std::string& name, Vectors vectors) {
      return folded ? times(std::move(vectors), values.at(name)) : vectors;
    };
    all["E E"] = centered(rows(values.at("model.embed_tokens.weight"), 16));
    all["<U U"] = gain("model.norm.weight", centered(rows(values.at("lm_head.weight"), 16)));
    for (std::size_t l = 0; l < 2; ++l) {
      const std::string layer = "model.layers." + std::to_string(l) + ".";
      const std::string name = " L" + std::to_string(l);
      const auto of = [&](const std::string& module) { return values.at(layer + module + ".weight"); };
      const std::string norm = layer + "input_layernorm.weight";
      for (std::size_t h = 0; h < 4; ++h) {
        const std::string head = name + "H" + std::to_string(h);
        all["O" + head] = basis(columns(of("self_attn.o_proj"), 16, 4 * h, 4));
        all["<Q" + head] = basis(gain(norm, rows(of("self_attn.q_proj"), 16, 4 * h, 4)));
      }
      for (std::size_t h = 0; h < 2; ++h) {
        const std::string head = name + "KV" + std::to_string(h);
        all["<K" + head] = basis(gain(norm, rows(of("self_attn.k_proj"), 16, 4 * h, 4)));
        all["<V" + head] = basis(gain(norm, rows(of("self_attn.v_proj"), 16, 4 * h, 4)));
      }
      all["M" + name + "M"] = columns(of("mlp.down_proj"), 12);
      all["<M" + name + "M"] = gain(layer + "post_attention_layernorm.weight",
                                    joined(rows(of("mlp.gate_proj"), 16), rows(of("mlp.up_proj"), 16)));
    }
    return all;
  }

  test::TinyLlama llama_;
  test::TemporaryFolder folder_;
};

TEST_F(LlamaOverlap, EqualsItsDefinition) {
  const Model opened = model();
  const Overlaps raw = compute(opened, WeightProcessing::kRaw);
  // What the MLPs read fills the stream.
  expect_scores(raw, matrices(false), {"<M"});
  expect_scores(compute(opened, WeightProcessing::kFolded), matrices(true), {"<M"});
  ASSERT_EQ(raw.warnings.size(), 1U);
  EXPECT_EQ(raw.warnings[0], "no node P (position): it has no table of positions");
}

TEST_F(LlamaOverlap, OfHeadsIsARescaledProjectionKernel) {
  const Overlaps found = compute(model(), WeightProcessing::kFolded);
  const Matrices all = matrices(true);
  const double value = static_cast<double>(found.scores[1 * found.targets.size()].overlap(1, 5));
  ASSERT_EQ(found.pair_name(found.scores[1 * found.targets.size()]), "OQ");
  EXPECT_NEAR(value, inner(all.at("O L0H1"), all.at("<Q L1H1")) * 16 / (4 * 4), 1e-5);
}

TEST_F(LlamaOverlap, DoesNotDependOnMemoryAndThreads) {
  const Model opened = model();
  const Overlaps roomy = compute(opened, WeightProcessing::kFolded);
  std::size_t least = 1000;
  while (true) {
    try {
      check_overlaps(opened, kAll, std::vector{Role::kQ, Role::kK, Role::kV}, 0, {}, Context().with_memory(least));
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kResource);
      least += 1000;
    }
  }
  set_thread_count(1);
  const Overlaps tight = compute(opened, WeightProcessing::kFolded, kAll, Context().with_memory(least));
  set_thread_count(0);
  for (std::size_t s = 0; s < roomy.scores.size(); ++s) {
    for (std::size_t k = 0; k < roomy.scores[s].overlap.values().size(); ++k) {
      const float a = roomy.scores[s].overlap.values()[k];
      const float b = tight.scores[s].overlap.values()[k];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)));
    }
  }
}

TEST_F(LlamaOverlap, OfAZeroMlpIsZero) {
  for (float& value : llama_.values["model.layers.0.mlp.down_proj.weight"]) value = 0;
  const Model opened = model();
  const Overlaps found = compute(opened, WeightProcessing::kFolded, {.mlp = true});
  ASSERT_EQ(found.sources[1].letter, 'M');
  EXPECT_EQ(found.sources[1].ranks[0], 0U);
  for (const ComponentScores& scores : found.scores) {
    if (found.pair_name(scores) != "MM") continue;
    EXPECT_EQ(scores.overlap(0, 1), 0);
    EXPECT_TRUE(std::isnan(scores.overlap(1, 1)));
  }
  const ComponentGraph graph = relate_components(opened, {.mlp = true}, {}, {});
  for (const ComponentEdge& edge : graph.edges) EXPECT_NE(to_string(edge.source), "L0M");
}

TEST_F(LlamaOverlap, RejectsWeightsThatAreNotNumbers) {
  llama_.values["model.layers.1.mlp.up_proj.weight"][17] = std::nanf("");
  EXPECT_ERROR(compute(model(), WeightProcessing::kRaw, {.mlp = true}), ErrorKind::kNumeric,
               "model.layers.1.mlp.up_proj.weight");
}

TEST_F(LlamaOverlap, NeedsTheNamesOfTheMlp) {
  llama_.shapes.erase("model.layers.1.mlp.up_proj.weight");
  EXPECT_ERROR(compute(model(), WeightProcessing::kRaw, {.mlp = true}), ErrorKind::kFormat,
               "--nodes: only heads are known of this model");
}

TEST(Overlap, FoldsLayerNormsAndTransposes) {
  test::TinyGpt2 gpt2;
  for (const char* layer : {"transformer.h.0.", "transformer.h.1."}) {
    const std::string name = layer;
    gpt2.shapes[name + "mlp.c_fc.weight"] = {4, 3};
    gpt2.shapes[name + "mlp.c_fc.bias"] = {3};
    gpt2.shapes[name + "mlp.c_proj.weight"] = {3, 4};
    gpt2.shapes[name + "mlp.c_proj.bias"] = {4};
    for (const char* norm : {"ln_1", "ln_2"}) {
      gpt2.shapes[name + norm + ".weight"] = {4};
      gpt2.shapes[name + norm + ".bias"] = {4};
    }
    gpt2.shapes[name + "attn.c_attn.bias"] = {12};
    gpt2.shapes[name + "attn.c_proj.bias"] = {4};
  }
  gpt2.shapes["transformer.wpe.weight"] = {3, 4};
  gpt2.shapes["transformer.ln_f.weight"] = {4};
  gpt2.shapes["transformer.ln_f.bias"] = {4};
  std::size_t seed = 40;
  for (const auto& [name, shape] : gpt2.shapes) {
    gpt2.values[name] = test::normals(static_cast<std::size_t>(*element_count(shape)), ++seed);
  }
  const test::TemporaryFolder folder;
  gpt2.write(folder);
  const auto& values = gpt2.values;
  Matrices all;
  const Vectors tokens = centered(rows(values.at("transformer.wte.weight"), 4));
  all["E E"] = without_ones(tokens);
  all["P P"] = without_ones(centered(rows(values.at("transformer.wpe.weight"), 4)));
  all["<U U"] = without_ones(times(tokens, values.at("transformer.ln_f.weight")));
  for (std::size_t l = 0; l < 2; ++l) {
    const std::string layer = "transformer.h." + std::to_string(l) + ".";
    const std::string name = " L" + std::to_string(l);
    const auto read = [&](const std::string& norm, Vectors vectors) {
      return without_ones(times(std::move(vectors), values.at(layer + norm + ".weight")));
    };
    for (std::size_t h = 0; h < 2; ++h) {
      const std::string head = name + "H" + std::to_string(h);
      const std::vector<float>& fused = values.at(layer + "attn.c_attn.weight");
      all["O" + head] = basis(without_ones(rows(values.at(layer + "attn.c_proj.weight"), 4, 2 * h, 2)));
      all["<Q" + head] = basis(read("ln_1", columns(fused, 12, 2 * h, 2)));
      all["<K" + head] = basis(read("ln_1", columns(fused, 12, 4 + 2 * h, 2)));
      all["<V" + head] = basis(read("ln_1", columns(fused, 12, 8 + 2 * h, 2)));
    }
    all["M" + name + "M"] = without_ones(rows(values.at(layer + "mlp.c_proj.weight"), 4));
    all["<M" + name + "M"] = read("ln_2", columns(values.at(layer + "mlp.c_fc.weight"), 3));
  }
  const Overlaps found = compute(Model::open(folder.path()), WeightProcessing::kFolded);
  // Seven tokens fill what LayerNorm leaves: three of four dimensions, so that they have a basis.
  expect_scores(found, all, {});
  EXPECT_TRUE(found.warnings.empty());
}

// Families with gates, fused gates, scales, offsets, parallel blocks, positions and patches; see make_overlaps.py.
TEST(Overlap, EqualsTheFloat64ReferenceForEveryFormOfMlp) {
  const std::filesystem::path golden = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden";
  const auto cases = nlohmann::json::parse(std::ifstream(golden / "overlaps.json"));
  for (const auto& [name, pairs] : cases.items()) {
    SCOPED_TRACE(name);
    const Overlaps found = compute(Model::open(golden / "checkpoints" / name), WeightProcessing::kFolded);
    std::size_t seen = 0;
    for (const ComponentScores& scores : found.scores) {
      const std::string pair = found.pair_name(scores);
      if (!pairs.contains(pair)) continue;
      SCOPED_TRACE(pair);
      const auto& expected = pairs[pair];
      ++seen;
      ASSERT_EQ(expected.size(), scores.overlap.rows());
      ASSERT_EQ(expected[0].size(), scores.overlap.columns());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        for (std::size_t j = 0; j < expected[i].size(); ++j) {
          const float value = scores.overlap(i, j);
          ASSERT_EQ(expected[i][j].is_null(), std::isnan(value)) << i << " " << j;
          if (!std::isnan(value)) {
            EXPECT_NEAR(value, expected[i][j].get<double>(), 1e-5) << i << " " << j;
          }
        }
      }
    }
    EXPECT_EQ(seen, pairs.size());
  }
}

}  // namespace
}  // namespace headscope
