// On trained models: the closest heads are those that the CPU finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "cuda/device_test.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/model/model.h"
#include "headscope/relate/rank_tolerance.h"

namespace headscope {
namespace {

using HeadPair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // layer, head, layer, head
using Scores = std::vector<std::pair<float, HeadPair>>;

FactorWeights load(const Model& model, std::size_t layer, Role role) {
  FactorWeights weights;
  weights.outer = model.load_heads(layer, role);
  weights.heads.resize(weights.outer.heads());
  std::iota(weights.heads.begin(), weights.heads.end(), std::size_t{0});
  weights.rank_tolerance =
      rank_tolerance(model.stored_type(layer, role), weights.outer.d_model(), weights.outer.d_head());
  return weights;
}

// Scores of all heads of two layers by `norms(out)`.
template <typename Norms>
void add_scores(std::size_t s, std::size_t sources, std::size_t t, std::size_t targets, const Norms& norms,
                Scores& scores) {
  std::vector<float> out(sources * targets);
  norms(out.data());
  for (std::size_t i = 0; i < out.size(); ++i) scores.push_back({out[i], {s, i / targets, t, i % targets}});
}

Scores on_cpu(const Model& model, Role role) {
  const HeadSizes& sizes = model.info().sizes;
  const auto bases = [&](std::size_t layer, Role of) {
    const FactorWeights weights = load(model, layer, of);
    Buffer<float> result(weights.outer.values().size());
    const std::size_t size = sizes.d_model * sizes.d_head;
    for (const std::size_t head : weights.heads) {
      orthonormal_basis(weights.outer.values().subspan(head * size, size), sizes.d_model, sizes.d_head,
                        weights.rank_tolerance, result.values().subspan(head * size, size));
    }
    return result;
  };
  Scores scores;
  const std::size_t size = sizes.d_model * sizes.d_head;
  for (std::size_t s = 0; s < sizes.layers; ++s) {
    const Buffer<float> source = bases(s, Role::kO);
    for (std::size_t t = s + 1; t < sizes.layers; ++t) {
      const Buffer<float> target = bases(t, role);
      const FactorStack a{source.data(), source.size() / size, sizes.d_head, sizes.d_model};
      const FactorStack b{target.data(), target.size() / size, sizes.d_head, sizes.d_model};
      add_scores(
          s, a.count, t, b.count, [&](float* out) { cpu_block_norms()->compute(a, b, out, b.count); }, scores);
    }
  }
  return scores;
}

Scores on_device(const Model& model, Role role, Precision precision) {
  const auto engine = cuda_affinity_engine(0, precision);
  Scores scores;
  for (std::size_t s = 0; s < model.info().sizes.layers; ++s) {
    const auto source = engine->prepare(load(model, s, Role::kO));
    for (std::size_t t = s + 1; t < model.info().sizes.layers; ++t) {
      const auto target = engine->prepare(load(model, t, role));
      const std::size_t columns = target->ranks.size();
      const auto norms = [&](float* out) {
        const LayerBlock block{source.get(), target.get(), out, columns};
        engine->compute(std::span(&block, 1));
        engine->wait();
      };
      add_scores(s, source->ranks.size(), t, columns, norms, scores);
    }
  }
  return scores;
}

std::set<HeadPair> closest(Scores scores, std::size_t count) {
  std::ranges::sort(scores, std::greater{});
  std::set<HeadPair> result;
  for (std::size_t i = 0; i < std::min(count, scores.size()); ++i) result.insert(scores[i].second);
  return result;
}

class TrainedModel : public test::OnDevice<testing::TestWithParam<const char*>> {};

TEST_P(TrainedModel, HasTheSameTop20OnEveryDevice) {
  const Model model = Model::open(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "models" / GetParam());
  for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
    const Scores expected = on_cpu(model, role);
    for (const auto& [precision, bound] : {std::pair{Precision::kFloat32, 1e-5},
                                           {Precision::kTf32, 1e-3},
                                           {Precision::kFp16, 1e-3},
                                           {Precision::kBf16, 1e-2}}) {
      const Scores found = on_device(model, role, precision);
      ASSERT_EQ(found.size(), expected.size());
      EXPECT_EQ(closest(found, 20), closest(expected, 20)) << letter(role) << ' ' << bound;
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i].first, expected[i].first, bound * static_cast<double>(expected[i].first));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedModel, testing::Values("induction", "demo"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace headscope
