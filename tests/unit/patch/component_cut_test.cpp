// Cuts of every edge from a head to an MLP or the unembedding of tiny models of several families, against PyTorch with
// hooks on transformers (tests/golden/make_patch_components.py).

#include "headscope/patch/component_cut.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headscope/model/network.h"
#include "headscope/patch/component_effects.h"
#include "support/expect_error.h"
#include "support/patch_case.h"

namespace headscope {
namespace {

using test::kReplacements;
using test::PatchCase;

class ComponentCutCase : public testing::TestWithParam<std::string> {};

struct NumberedCut {
  ComponentCut cut;
  std::size_t index;  // in the golden array of one replacement
};

std::vector<NumberedCut> cuts_into(ComponentKind kind, const PatchCase& one) {
  const HeadSizes& sizes = one.sizes();
  const bool mlp = kind == ComponentKind::kMlp;
  const Network network = resolve_network(one.model());
  const std::size_t targets = mlp ? sizes.layers : 1;
  std::vector<NumberedCut> all;
  for (std::size_t a = 0; a < sizes.layers; ++a) {
    for (std::size_t s = 0; s < sizes.heads; ++s) {
      for (std::size_t t = 0; t < targets; ++t) {
        if (mlp && !network.layers[t].has_mlp) continue;
        const ComponentCut cut{sizes.head_of(a, s), mlp ? mlp_of(t, sizes) : ComponentId(kind)};
        if (precedes(cut.source, cut.target, network.parallel))
          all.push_back({cut, (a * sizes.heads + s) * targets + t});
      }
    }
  }
  return all;
}

TEST_P(ComponentCutCase, AgreesWithPyTorch) {
  const PatchCase one(GetParam());
  const NpzFile file = NpzFile::open(test::kPatchCases / GetParam() / "components.npz");
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (const ComponentKind kind : {ComponentKind::kMlp, ComponentKind::kUnembedding}) {
    const std::string letter = kind == ComponentKind::kMlp ? "M" : "U";
    if (!file.find("loss_" + letter)) continue;  // several streams end in the unembedding
    const std::vector<NumberedCut> numbered = cuts_into(kind, one);
    std::vector<ComponentCut> cuts;
    for (const NumberedCut& each : numbered) cuts.push_back(each.cut);
    ASSERT_FALSE(cuts.empty());
    for (const bool loss : {true, false}) {
      const std::string name = (loss ? "loss_" : "difference_") + letter;
      const std::vector<double> expected = PatchCase::read(file, name);
      for (std::size_t k = 0; k < kReplacements.size(); ++k) {
        const HeadChange change(record, kReplacements[k], &paired);
        const CutMeter meter(record, change, loss ? one.losses : one.differences);
        const std::vector<double> found = meter.measure_components(cuts);
        double worst = 0;
        double largest = 0;
        for (std::size_t i = 0; i < cuts.size(); ++i) {
          const double there = expected[k * expected.size() / kReplacements.size() + numbered[i].index];
          worst = std::max(worst, std::abs(found[i] - there));
          largest = std::max(largest, std::abs(there - one.before(loss)));
        }
        EXPECT_GT(largest, 5e-3);
        EXPECT_LT(worst, 1e-4) << name << ", replacement " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ComponentCutCase, testing::ValuesIn(test::patch_cases("components.npz")),
                         [](const auto& one) { return one.param; });

TEST(ComponentCut, Refusals) {
  const PatchCase one("llama");  // three layers of four heads and two KV heads
  const auto check = [&](HeadId source, ComponentId target, bool parallel = false) {
    check_cut({source, target}, one.sizes(), parallel);
  };
  const auto mlp = [](std::size_t layer) { return ComponentId(ComponentKind::kMlp, layer); };
  EXPECT_NO_THROW(check({1, 3}, mlp(1)));
  EXPECT_NO_THROW(check({2, 0}, ComponentId(ComponentKind::kUnembedding)));
  EXPECT_ERROR(check({1, 3}, mlp(1), /*parallel=*/true), ErrorKind::kInvalidArgument,
               "L1M does not read after L1H3 writes");
  EXPECT_ERROR(check({1, 3}, mlp(0)), ErrorKind::kInvalidArgument, "L0M does not read after L1H3 writes");
  EXPECT_ERROR(check({1, 3}, mlp(3)), ErrorKind::kInvalidArgument, "the model has no L3M: it has 3 layers");
  EXPECT_ERROR(check({1, 4}, mlp(2)), ErrorKind::kInvalidArgument, "the model has no head L1H4");
  EXPECT_ERROR(check({0, 1, true}, mlp(2)), ErrorKind::kInvalidArgument, "L0KV1 reads");
  EXPECT_ERROR(check({1, 3}, ComponentId(ComponentKind::kEmbedding)), ErrorKind::kInvalidArgument,
               "expected an MLP such as L4M, or U, found E");
}

TEST(ComponentCut, TheUnembeddingReadsTheLastStage) {
  const PatchCase one("swinv2");  // the first of two stages
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kZero);
  const CutMeter meter(record, change, one.losses);
  const auto measure = [&](ComponentId target) {
    return meter.measure_components(std::vector{ComponentCut{{0, 0}, target}});
  };
  EXPECT_EQ(measure(ComponentId(ComponentKind::kMlp, 1)).size(), 1u);
  EXPECT_ERROR(measure(ComponentId(ComponentKind::kUnembedding)), ErrorKind::kInvalidArgument, "stage 1 of 2");
}

TEST(ComponentCut, TheUnembeddingReadsOneStream) {
  const PatchCase one("gemma3n");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kZero);
  const CutMeter meter(record, change, one.losses);
  const ComponentId unembedding(ComponentKind::kUnembedding);
  EXPECT_ERROR(meter.measure_components(std::vector{ComponentCut{{0, 0}, unembedding}}), ErrorKind::kUnsupported,
               "the mean of several streams");
  EXPECT_ERROR(choose_component_cuts(one.model(), {.targets = {ComponentKind::kUnembedding}}), ErrorKind::kUnsupported,
               "the mean of several streams");
}

}  // namespace
}  // namespace headscope
