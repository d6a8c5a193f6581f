// Cuts of every edge of tiny models of several families, against PyTorch with hooks on transformers
// (tests/golden/make_patch.py), and what holds for every cut.

#include "headscope/patch/cut.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/patch/screen.h"
#include "support/expect_error.h"
#include "support/patch_case.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::kReadingRoles;
using test::kReplacements;
using test::PatchCase;

class CutCase : public testing::TestWithParam<std::string> {};

TEST_P(CutCase, AgreesWithPyTorch) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (const bool loss : {true, false}) {
    for (std::size_t k = 0; k < kReplacements.size(); ++k) {
      const HeadChange change(record, kReplacements[k], &paired);
      const CutMeter meter(record, change, loss ? one.losses : one.differences);
      EXPECT_NEAR(meter.before(), one.before(loss), 1e-4);
      for (const Role role : kReadingRoles) {
        const std::vector<PatchEdge> edges = one.edges(role);
        const std::vector<double> found = meter.measure(edges);
        const std::vector<double> expected = one.expected(loss ? "loss" : "difference", role, k);
        double worst = 0;
        double largest = 0;
        ASSERT_EQ(found.size(), edges.size());
        for (std::size_t i = 0; i < edges.size(); ++i) {
          const double there = expected[one.index(edges[i])];
          worst = std::max(worst, std::abs(found[i] - there));
          largest = std::max(largest, std::abs(there - one.before(loss)));
        }
        EXPECT_GT(largest, 5e-3);
        EXPECT_LT(worst, 1e-4) << "loss " << loss << ", replacement " << k << ", role " << letter(role);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CutCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

// TransformerLens computes GPT-2 with code of its own: tests/golden/make_patch_lens.py.
TEST(Cut, AgreesWithTransformerLens) {
  const PatchCase one("gpt2");
  const NpzFile file = NpzFile::open(std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/patch_lens.npz");
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (std::size_t k = 0; k < kReplacements.size(); ++k) {
    const HeadChange change(record, kReplacements[k], &paired);
    const CutMeter meter(record, change, one.losses);
    for (const Role role : kReadingRoles) {
      const std::vector<PatchEdge> edges = one.edges(role);
      const std::vector<double> found = meter.measure(edges);
      const std::vector<double> expected = PatchCase::read(file, std::string("loss_") + letter(role));
      const std::size_t first = k * expected.size() / kReplacements.size();
      for (std::size_t i = 0; i < edges.size(); ++i) {
        EXPECT_NEAR(found[i], expected[first + one.index(edges[i])], 1e-5);
      }
    }
  }
}

// A model, its record, and the cuts of all its edges by their mean.
struct Cuts {
  explicit Cuts(const std::string& name)
      : one(name),
        record(one.model(), one.inputs),
        change(record, Replacement::kMean),
        meter(record, change, one.losses) {
    for (const Role role : kReadingRoles) {
      for (const PatchEdge& edge : one.edges(role)) edges.push_back(edge);
    }
  }

  PatchCase one;
  RecordedPass record;
  HeadChange change;
  CutMeter meter;
  std::vector<PatchEdge> edges;
};

// BLAS kernels of some processors round a row differently beside others.
constexpr double kRounding = 2e-6;

TEST(Cut, OneOfABatchGivesTheValueOfOneAlone) {
  for (const std::string name : {"llama", "bert", "vit", "whisper"}) {
    const Cuts cuts(name);
    const std::vector<double> together = cuts.meter.measure(cuts.edges);
    for (std::size_t i = 0; i < cuts.edges.size(); ++i) {
      const double alone = cuts.meter.measure(std::span(cuts.edges).subspan(i, 1)).front();
      EXPECT_NEAR(alone, together[i], kRounding) << name << " " << i;
    }
  }
}

TEST(Cut, TheOrderOfEdgesDoesNotMatter) {
  const Cuts cuts("llama");
  const std::vector<double> values = cuts.meter.measure(cuts.edges);
  std::vector<PatchEdge> backwards(cuts.edges.rbegin(), cuts.edges.rend());
  backwards.push_back(backwards.front());
  std::vector<double> found = cuts.meter.measure(backwards);
  EXPECT_NEAR(found.back(), found.front(), kRounding);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(found[i], values[values.size() - 1 - i], kRounding);
  EXPECT_TRUE(cuts.meter.measure({}).empty());
}

TEST(Cut, DoesNotDependOnThreadsOrMemory) {
  const Cuts cuts("llama");
  set_thread_count(1);
  const std::vector<double> values = cuts.meter.measure(cuts.edges);
  const double before = cuts.meter.before();
  for (const std::size_t threads : {2u, 3u, 8u}) {
    set_thread_count(threads);
    EXPECT_EQ(cuts.meter.measure(cuts.edges), values) << threads;
    EXPECT_EQ(cuts.meter.before(), before) << threads;
  }
  set_thread_count(0);
  // Less than all cuts of a layer at a time.
  const std::vector<double> little = cuts.meter.measure(cuts.edges, Context{.memory = std::size_t{1} << 20});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(little[i], values[i], 1e-5);
}

TEST(Cut, OfAHeadThatWritesNothingHasNoEffect) {
  test::TinyLlama tiny;
  std::vector<float>& o = tiny.values.at("model.layers.0.self_attn.o_proj.weight");
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (i % 16 / 4 == 2) o[i] = 0;  // head 2
  }
  const test::TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  const std::vector<ModelInput> inputs = {test::some_tokens(12, 13, 1), test::some_tokens(5, 13, 2)};
  const std::vector<std::vector<Readout>> readouts = {next_token_readouts(inputs[0], 0),
                                                      next_token_readouts(inputs[1], 0)};
  const RecordedPass record(model, inputs);
  const HeadChange change(record, Replacement::kMean);
  const CutMeter meter(record, change, readouts);
  const std::vector<PatchEdge> edges = {{{0, 2}, Role::kQ, {1, 3}},
                                        {{0, 2}, Role::kK, {1, 1, true}},
                                        {{0, 2}, Role::kV, {1, 0, true}},
                                        {{0, 1}, Role::kV, {1, 0, true}}};
  const std::vector<double> values = meter.measure(edges);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(values[i], meter.before(), 1e-6);
  EXPECT_GT(std::abs(values[3] - meter.before()), 1e-3);
  for (const Screen& found : screen(record, change, kReadingRoles)) {
    for (std::size_t t = 0; t < found.values.columns(); ++t) EXPECT_NEAR(found.values(2, t), 0, 1e-6);
    EXPECT_GT(found.values(1, found.values.columns() - 1), 1e-3);
  }
}

TEST(Cut, OnlyReadoutsCount) {
  const PatchCase one("gpt2");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kZero);
  // The mean over all readouts is that of the single ones: inputs with more readouts weigh more.
  const std::vector<PatchEdge> edges = {{{0, 0}, Role::kV, {1, 1}}, {{1, 1}, Role::kQ, {2, 0}}};
  const std::vector<double> values = CutMeter(record, change, one.losses).measure(edges);
  std::vector<double> sums(edges.size());
  double count = 0;
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    std::vector<std::vector<Readout>> some(one.losses.size());
    some[i] = one.losses[i];
    const std::vector<double> own = CutMeter(record, change, some).measure(edges);
    for (std::size_t e = 0; e < edges.size(); ++e) sums[e] += own[e] * static_cast<double>(some[i].size());
    count += static_cast<double>(some[i].size());
  }
  for (std::size_t e = 0; e < edges.size(); ++e) EXPECT_NEAR(values[e], sums[e] / count, kRounding);
  // Causal: what comes after the last readout's row does not matter.
  EXPECT_EQ(next_token_readouts(one.inputs[1], 2).size(), one.losses[1].size());
}

TEST(Cut, Refusals) {
  const Cuts cuts("llama");  // three layers of four heads and two KV heads
  const auto measure = [&](const PatchEdge& edge, const Context& context = {}) {
    return cuts.meter.measure(std::span(&edge, 1), context);
  };
  EXPECT_ERROR(measure({{1, 0}, Role::kQ, {1, 1}}), ErrorKind::kInvalidArgument,
               "L1H1 is not in a later layer than L1H0");
  EXPECT_ERROR(measure({{0, 0}, Role::kQ, {1, 0}}, Context{.memory = 1000}), ErrorKind::kResource, "memory");
}

TEST(Cut, RefusesToMeasureNothing) {
  const Cuts cuts("llama");
  const std::vector<std::vector<Readout>> none(cuts.one.inputs.size());
  EXPECT_ERROR(CutMeter(cuts.record, cuts.change, none), ErrorKind::kInvalidArgument, "no prediction");
  const std::vector<std::vector<Readout>> few(1, cuts.one.losses[0]);
  EXPECT_ERROR(CutMeter(cuts.record, cuts.change, few), ErrorKind::kInvalidArgument, "no prediction");
}

}  // namespace
}  // namespace headscope
