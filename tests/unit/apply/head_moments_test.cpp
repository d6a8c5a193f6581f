#include "headscope/apply/head_moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/forward/ablation.h"
#include "support/expect_error.h"
#include "support/golden_inputs.h"

namespace headscope {
namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows_of(MatrixView values) {
  Rows rows(values.rows(), std::vector<double>(values.columns()));
  for (std::size_t t = 0; t < values.rows(); ++t) {
    for (std::size_t j = 0; j < values.columns(); ++j) rows[t][j] = static_cast<double>(values(t, j));
  }
  return rows;
}

// The definition, with everything kept and every contribution written out.
class Naive {
 public:
  Naive(const Model& model, const std::vector<ModelInput>& inputs, bool scaled) : model_(model) {
    ForwardOptions pass;
    pass.end_layer = model.info().sizes.layers;
    pass.on_stream = [&](const StreamRows& rows) { streams_[{rows.layer, rows.input}] = rows_of(rows.values); };
    pass.on_heads = [&](const HeadOutputs& rows) { outputs_[{rows.layer, rows.input}] = rows_of(rows.values); };
    pass.on_norm = [&](const NormFactors& norm) {
      if (scaled && !norm.after_mlp)
        factors_[{norm.layer, norm.input}].assign(norm.factors.begin(), norm.factors.end());
    };
    run_forward(model, inputs, pass);
  }

  // Energy, or variation if the stream is centered.
  [[nodiscard]] double share(std::size_t layer, std::size_t head, bool centered) const {
    const HeadWeights writes = model_.load_heads(layer, Role::kO, WeightProcessing::kRaw);
    const std::size_t h = writes.d_head();
    Rows written;
    std::vector<double> squares;
    const std::vector<double> center = centered ? mean_direction(layer) : std::vector<double>(writes.d_model());
    for (const auto& [key, outputs] : outputs_) {
      if (key.first != layer) continue;
      for (std::size_t t = 0; t < outputs.size(); ++t) {
        const double factor = factors_.contains(key) ? factors_.at(key)[t] : 1;
        std::vector<double>& o = written.emplace_back(writes.d_model());
        for (std::size_t i = 0; i < o.size(); ++i) {
          for (std::size_t j = 0; j < h; ++j) {
            o[i] += factor * static_cast<double>(writes.head(head)(i, j)) * outputs[t][head * h + j];
          }
        }
        double square = 0;
        const std::vector<double>& x = streams_.at(key)[t];
        for (std::size_t i = 0; i < x.size(); ++i) square += std::pow(x[i] - norm(x) * center[i], 2);
        squares.push_back(square);
      }
    }
    std::vector<double> mean(writes.d_model());
    for (const auto& o : written) {
      for (std::size_t i = 0; i < o.size(); ++i) mean[i] += o[i] / static_cast<double>(written.size());
    }
    double sum = 0;
    for (std::size_t t = 0; t < written.size(); ++t) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        sum += (written[t][i] - mean[i]) * (written[t][i] - mean[i]) / squares[t];
      }
    }
    return sum / static_cast<double>(written.size());
  }

 private:
  static double norm(const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  }

  [[nodiscard]] std::vector<double> mean_direction(std::size_t layer) const {
    std::vector<double> mean(model_.info().sizes.d_model);
    double tokens = 0;
    for (const auto& [key, rows] : streams_) {
      if (key.first != layer) continue;
      for (const auto& row : rows) {
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i] / norm(row);
      }
      tokens += static_cast<double>(rows.size());
    }
    for (double& value : mean) value /= tokens;
    return mean;
  }

  using Key = std::pair<std::size_t, std::size_t>;
  const Model& model_;
  std::map<Key, Rows> streams_;
  std::map<Key, Rows> outputs_;
  std::map<Key, std::vector<double>> factors_;
};

class MomentsCase : public testing::TestWithParam<std::string> {};

TEST_P(MomentsCase, AreThoseOfTheDefinition) {
  const Model model = Model::open(test::golden_model(GetParam()));
  const std::vector<ModelInput> inputs = test::golden_inputs(GetParam());
  const HeadMoments moments = measure_head_moments(model, inputs);
  const HeadSizes& sizes = model.info().sizes;
  const Naive naive(model, inputs, GetParam().starts_with("gemma"));
  std::vector<HeadId> all;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      all.push_back({layer, head});
      const double energy = naive.share(layer, head, false);
      const double variation = naive.share(layer, head, true);
      EXPECT_GT(energy, 0);
      EXPECT_NEAR(moments.energy[all.size() - 1], energy, 1e-5 * energy) << to_string(all.back());
      EXPECT_NEAR(moments.variation[all.size() - 1], variation, 1e-5 * variation) << to_string(all.back());
    }
  }
  const std::vector<HeadReplacement> means = mean_ablation(model, all, inputs);
  ASSERT_EQ(moments.means.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(moments.means[i], means[i].value);
}

// Grouped queries, a norm after attention, post-norm, a scale per channel, images, fused weights.
INSTANTIATE_TEST_SUITE_P(Families, MomentsCase,
                         testing::Values("llama", "gemma2", "bert", "dinov2", "gpt2", "gguf_llama"),
                         [](const auto& one) { return one.param; });

TEST(HeadMoments, DoNotDependOnTheNumberOfThreads) {
  const Model model = Model::open(test::golden_model("llama"));
  const std::vector<ModelInput> inputs = test::golden_inputs("llama");
  set_thread_count(1);
  const HeadMoments one = measure_head_moments(model, inputs);
  set_thread_count(3);
  const HeadMoments three = measure_head_moments(model, inputs);
  set_thread_count(0);
  EXPECT_EQ(one.energy, three.energy);
  EXPECT_EQ(one.variation, three.variation);
  EXPECT_EQ(one.means, three.means);
}

TEST(HeadMoments, NeedInputs) {
  const Model model = Model::open(test::golden_model("llama"));
  EXPECT_ERROR(measure_head_moments(model, {}), ErrorKind::kInvalidArgument, "no inputs");
}

}  // namespace
}  // namespace headscope
