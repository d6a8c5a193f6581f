// What holds for every forward pass, whatever the family: the mask, the order of things, who gets which rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"
#include "support/expect_error.h"
#include "support/forward_record.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::ForwardRecord;
using test::record_forward;
using test::some_tokens;
using test::TemporaryFolder;
using test::TinyLlama;

const std::string kModels = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/forward/";

struct Written {
  explicit Written(const TinyLlama& tiny = {}) { tiny.write(folder); }
  [[nodiscard]] Model open() const { return Model::open(folder.path()); }
  TemporaryFolder folder;
};

std::vector<ModelInput> inputs_of_lengths(const std::vector<std::size_t>& lengths) {
  std::vector<ModelInput> inputs;
  for (const std::size_t length : lengths) {
    inputs.push_back(some_tokens(length, TinyLlama::kVocabulary, static_cast<std::uint32_t>(inputs.size() + 1)));
  }
  return inputs;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return most;
}

double largest_difference(const ForwardRecord& a, const ForwardRecord& b) {
  EXPECT_EQ(a.pattern.size(), b.pattern.size());
  double most = 0;
  for (const auto& [key, row] : a.pattern) most = std::max(most, largest_difference(row, b.pattern.at(key)));
  for (const auto& [key, row] : a.scores) most = std::max(most, largest_difference(row, b.scores.at(key)));
  for (std::size_t i = 0; i < a.output.size(); ++i) most = std::max(most, largest_difference(a.output[i], b.output[i]));
  return most;
}

// Causal, causal with windows in some layers, soft-capped, and looking both ways.
class MaskCase : public testing::TestWithParam<const char*> {};

TEST_P(MaskCase, ScoresThroughMaskAndSoftmaxGiveThePattern) {
  const Model model = Model::open(kModels + GetParam());
  const Network network = resolve_network(model);
  const std::vector<ModelInput> inputs = {some_tokens(21, 60)};
  const ForwardRecord record = record_forward(model, inputs, {}, /*with_output=*/false);
  ASSERT_EQ(record.scores.size(), network.layers.size() * model.info().sizes.heads * 21);
  for (const auto& [key, scores] : record.scores) {
    const std::size_t query = std::get<3>(key);
    const std::size_t window = network.layers[std::get<1>(key)].window;
    const auto visible = [&](std::size_t k) {
      return !network.causal || (k <= query && (window == 0 || query - k < window));
    };
    double most = -1e300;
    double sum = 0;
    for (std::size_t k = 0; k < 21; ++k) most = visible(k) ? std::max(most, static_cast<double>(scores[k])) : most;
    for (std::size_t k = 0; k < 21; ++k) sum += visible(k) ? std::exp(static_cast<double>(scores[k]) - most) : 0;
    for (std::size_t k = 0; k < 21; ++k) {
      const float found = record.pattern.at(key)[k];
      if (!visible(k)) {
        EXPECT_EQ(found, 0) << "masked";
      } else {
        EXPECT_NEAR(found, std::exp(static_cast<double>(scores[k]) - most) / sum, 2e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MaskCase, testing::Values("llama", "mistral", "gemma2", "gemma3", "bert"),
                         [](const auto& one) { return std::string(one.param); });

TEST(ForwardRun, GivesTheSameBitsForAnyNumberOfThreads) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({40, 7, 600, 1});
  // The second budget holds less than one block a thread.
  for (const std::size_t memory : {std::size_t{1} << 30, std::size_t{2600} << 10}) {
    const Context context{.memory = memory};
    set_thread_count(1);
    const ForwardRecord one = record_forward(model, inputs, {}, true, context);
    for (const std::size_t threads : {2u, 3u, 8u}) {
      set_thread_count(threads);
      EXPECT_TRUE(record_forward(model, inputs, {}, true, context) == one) << threads;
    }
    set_thread_count(0);
  }
}

TEST(ForwardRun, AnInputAloneAgreesWithOneAmongOthers) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({5, 33, 12});
  const ForwardRecord together = record_forward(model, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ForwardRecord alone = record_forward(model, std::span(inputs).subspan(i, 1));
    EXPECT_LT(largest_difference(alone.output[0], together.output[i]), 1e-5);
    for (const auto& [key, row] : alone.pattern) {
      const auto [input, layer, head, query] = key;
      EXPECT_LT(largest_difference(row, together.pattern.at({i, layer, head, query})), 1e-5);
    }
  }
}

TEST(ForwardRun, ASmallBudgetSplitsBatchesAndChangesNothingElse) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({300, 200, 300, 100});
  const ForwardRecord plenty = record_forward(model, inputs);
  const auto batches = [&](std::size_t memory) {
    std::set<double> layers;
    Context context{.memory = memory};
    context.on_progress = [&](std::string_view, double share) { layers.insert(share); };
    const ForwardRecord some = record_forward(model, inputs, {}, true, context);
    EXPECT_LT(largest_difference(some, plenty), 5e-5);  // BLAS kernels round rows differently beside others
    EXPECT_EQ(*layers.rbegin(), 1);
    return layers.size();
  };
  EXPECT_LT(batches(std::size_t{1} << 30), batches(std::size_t{900} << 10));
  const Context little{.memory = std::size_t{100} << 10};
  EXPECT_ERROR(run_forward(model, inputs, {}, little), ErrorKind::kResource, "running 300 tokens needs");
}

TEST(ForwardRun, HandsOutTheRowsAskedForAndEachOnce) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({600, 9, 4});
  ForwardOptions options;
  options.first_query = 5;
  options.end_query = 450;
  options.end_layer = 1;
  options.wants_map = [](std::size_t, std::size_t head) { return head % 3 == 0; };
  const ForwardRecord some = record_forward(model, inputs, options, /*with_output=*/false);
  const ForwardRecord all = record_forward(model, inputs);
  EXPECT_EQ(some.repeated, 0u);
  EXPECT_EQ(all.repeated, 0u);
  EXPECT_EQ(some.pattern.size(), 2 * (445u + 4));  // heads 0 and 3 of layer 0; the last input has no such query
  EXPECT_EQ(some.scores.size(), some.pattern.size());
  EXPECT_EQ(all.pattern.size(), 2 * 4 * (600u + 9 + 4));
  for (const auto& [key, row] : some.pattern) EXPECT_LT(largest_difference(row, all.pattern.at(key)), 1e-6);
  for (const auto& [key, row] : some.scores) EXPECT_LT(largest_difference(row, all.scores.at(key)), 1e-5);

  options.first_query = 7;
  options.end_query = 3;  // nothing is left, and nothing else happens
  EXPECT_TRUE(record_forward(model, inputs, options).pattern.empty());
}

// y = x W^T of the tiny Llama, in double.
using Rows = std::vector<std::vector<double>>;

Rows apply(const TinyLlama& tiny, const std::string& name, const Rows& x) {
  const Shape& shape = tiny.shapes.at(name);
  const std::vector<float>& weights = tiny.values.at(name);
  Rows y(x.size(), std::vector<double>(shape[0]));
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t i = 0; i < shape[0]; ++i) {
      for (std::size_t j = 0; j < shape[1]; ++j) y[t][i] += static_cast<double>(weights[i * shape[1] + j]) * x[t][j];
    }
  }
  return y;
}

Rows normed(Rows x) {
  for (auto& row : x) {
    double squares = 0;
    for (const double value : row) squares += value * value;
    for (double& value : row) value /= std::sqrt(squares / static_cast<double>(row.size()) + 1e-5);
  }
  return x;
}

void turn(Rows& x) {
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t head = 0; head < x[t].size(); head += 4) {
      for (std::size_t i = 0; i < 2; ++i) {
        const double angle = static_cast<double>(t) * std::pow(100.0, -static_cast<double>(i) / 2);
        double& a = x[t][head + i];
        double& b = x[t][head + i + 2];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
    }
  }
}

void add(Rows& x, const Rows& y) {
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
  }
}

struct Reference {
  Rows output;
  std::vector<Rows> pattern;  // by layer * 4 + head
};

// The model from its definition, whole maps at once.
Reference reference(const TinyLlama& tiny, const ModelInput& input) {
  Reference result;
  const std::vector<float>& embedding = tiny.values.at("model.embed_tokens.weight");
  Rows x;
  for (const std::uint32_t id : input.ids)
    x.emplace_back(embedding.begin() + id * 16, embedding.begin() + id * 16 + 16);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    Rows q = apply(tiny, name + "self_attn.q_proj.weight", normed(x));
    Rows k = apply(tiny, name + "self_attn.k_proj.weight", normed(x));
    const Rows v = apply(tiny, name + "self_attn.v_proj.weight", normed(x));
    turn(q);
    turn(k);
    Rows heads(x.size(), std::vector<double>(16));
    for (std::size_t a = 0; a < 4; ++a) {
      Rows map(x.size(), std::vector<double>(x.size()));
      for (std::size_t t = 0; t < x.size(); ++t) {
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (std::size_t i = 0; i < 4; ++i) score += q[t][a * 4 + i] * k[s][a / 2 * 4 + i] / 2;
          sum += map[t][s] = std::exp(score);
        }
        for (std::size_t s = 0; s <= t; ++s) {
          map[t][s] /= sum;
          for (std::size_t i = 0; i < 4; ++i) heads[t][a * 4 + i] += map[t][s] * v[s][a / 2 * 4 + i];
        }
      }
      result.pattern.push_back(std::move(map));
    }
    add(x, apply(tiny, name + "self_attn.o_proj.weight", heads));
    Rows gate = apply(tiny, name + "mlp.gate_proj.weight", normed(x));
    const Rows up = apply(tiny, name + "mlp.up_proj.weight", normed(x));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < 12; ++i) gate[t][i] *= up[t][i] / (1 + std::exp(-gate[t][i]));
    }
    add(x, apply(tiny, name + "mlp.down_proj.weight", gate));
  }
  result.output = apply(tiny, "lm_head.weight", normed(x));
  return result;
}

// 600 tokens are two blocks of queries, and 1024 more than the MLP takes at once.
TEST(ForwardRun, BlocksOfQueriesAgreeWithWholeMaps) {
  const TinyLlama tiny;
  const Written written(tiny);
  const Model model = written.open();
  for (const std::size_t length : {3u, 600u, 1100u}) {
    const ModelInput input = some_tokens(length, TinyLlama::kVocabulary);
    const Reference expected = reference(tiny, input);
    double pattern = 0;
    double output = 0;
    ForwardOptions options;
    std::mutex mutex;
    options.on_pattern = [&](const MapRows& rows) {
      const Rows& map = expected.pattern[rows.layer * 4 + rows.head];
      double most = 0;
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < length; ++j) {
          most = std::max(most, std::abs(static_cast<double>(rows.values(i, j)) - map[rows.first_query + i][j]));
        }
      }
      const std::lock_guard lock(mutex);
      pattern = std::max(pattern, most);
    };
    options.on_output = [&](const OutputRows& rows) {
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < rows.values.columns(); ++j) {
          const double found = static_cast<double>(rows.values(i, j));
          output = std::max(output, std::abs(found - expected.output[rows.first_row + i][j]));
        }
      }
    };
    run_forward(model, std::span(&input, 1), options);
    EXPECT_LT(pattern, 1e-4) << length;  // the angle of token 1,100 is rounded to float, as PyTorch does
    EXPECT_LT(output, 1e-3) << length;
  }
}

TEST(ForwardRun, AZeroedHeadIsOneWhoseOutputMatrixIsZero) {
  TinyLlama tiny;
  const Written whole(tiny);
  std::vector<float>& o = tiny.values.at("model.layers.0.self_attn.o_proj.weight");
  for (std::size_t row = 0; row < 16; ++row)
    std::fill_n(o.begin() + static_cast<std::ptrdiff_t>(row * 16 + 8), 4, 0.0F);
  const Written cut(tiny);
  const std::vector<ModelInput> inputs = inputs_of_lengths({20});
  ForwardOptions options;
  options.replacements = {{0, 2, {0, 0, 0, 0}}};
  const ForwardRecord replaced = record_forward(whole.open(), inputs, options);
  const ForwardRecord expected = record_forward(cut.open(), inputs);
  EXPECT_LT(largest_difference(replaced, expected), 1e-6);  // the replaced head's own map included
  EXPECT_GT(largest_difference(replaced, record_forward(whole.open(), inputs)), 1e-2);
}

TEST(ForwardRun, HeadOutputsAreWhatAReplacementReplaces) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({6});
  ForwardOptions options;
  options.replacements = {{1, 3, {1, 2, 3, 4}}};
  std::vector<float> last;
  std::size_t calls = 0;
  options.on_heads = [&](const HeadOutputs& heads) {
    ++calls;
    EXPECT_EQ(heads.values.rows(), 6u);
    EXPECT_EQ(heads.values.columns(), 16u);
    if (heads.layer == 1) last = {heads.values(5, 12), heads.values(5, 13), heads.values(5, 14), heads.values(5, 15)};
  };
  run_forward(model, inputs, options);
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(last, (std::vector<float>{1, 2, 3, 4}));
  for (const HeadReplacement& wrong : {HeadReplacement{2, 0, {0, 0, 0, 0}}, {0, 4, {0, 0, 0, 0}}, {0, 0, {0}}}) {
    options.replacements = {wrong};
    EXPECT_ERROR(run_forward(model, inputs, options), ErrorKind::kInvalidArgument, "there is no head");
  }
}

TEST(ForwardRun, ProgressEndsAtOneAndWhatItThrowsEndsThePass) {
  const Written written;
  const Model model = written.open();
  const std::vector<ModelInput> inputs = inputs_of_lengths({50, 60});
  std::vector<double> shares;
  ForwardOptions options;
  options.on_output = [](const OutputRows&) {};
  Context context;
  context.on_progress = [&](std::string_view, double share) { shares.push_back(share); };
  run_forward(model, inputs, options, context);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_EQ(shares.back(), 1);
  context.on_progress = [](std::string_view, double share) {
    if (share > 0.3) throw 7;
  };
  EXPECT_THROW(run_forward(model, inputs, options, context), int);
  run_forward(model, {}, {});  // no inputs, nothing to do
}

}  // namespace
}  // namespace headscope
