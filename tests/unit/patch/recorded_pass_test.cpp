#include "headscope/patch/recorded_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headscope/base/random.h"
#include "headscope/model/network.h"
#include "support/expect_error.h"
#include "support/patch_case.h"

namespace headscope {
namespace {

using test::kPatchCases;
using test::PatchCase;

using Rows = std::vector<std::vector<float>>;  // by input

std::vector<float> copy_of(MatrixView from) {
  std::vector<float> values;
  for (std::size_t i = 0; i < from.rows(); ++i) {
    for (std::size_t j = 0; j < from.columns(); ++j) values.push_back(from(i, j));
  }
  return values;
}

Rows outputs_of(const Model& model, const std::vector<ModelInput>& inputs, ForwardOptions options = {}) {
  Rows outputs(inputs.size() * options.copies);
  options.on_output = [&](const OutputRows& rows) {
    const std::vector<float> values = copy_of(rows.values);
    outputs[rows.input].insert(outputs[rows.input].end(), values.begin(), values.end());
  };
  run_forward(model, inputs, options);
  return outputs;
}

void write(MatrixView from, MatrixSpan rows) {
  ASSERT_EQ(from.rows(), rows.rows());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t j = 0; j < rows.columns(); ++j) rows.row(i)[j] = from(i, j);
  }
}

ForwardOptions from_record(const RecordedPass& record, std::size_t layer) {
  ForwardOptions options;
  options.begin_layer = layer;
  options.start = [&record, layer](std::size_t input, MatrixSpan rows) {
    write(record.stream(layer, input % record.inputs().size()), rows);
  };
  options.start_side = [&record, layer](std::size_t input, std::size_t side, MatrixSpan rows) {
    write(record.side(layer, side, input % record.inputs().size()), rows);
  };
  options.encoder_output = [&record](std::size_t input, MatrixSpan rows) {
    write(record.encoder_output(input % record.inputs().size()), rows);
  };
  options.lent_keys = [&record](std::size_t input, std::size_t lender) {
    return record.lent_keys(lender, input % record.inputs().size());
  };
  return options;
}

// The largest difference between outputs, those of copies with those of their input.
double largest_difference(const Rows& found, const Rows& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<float>& one = expected[i % expected.size()];
    if (found[i].size() != one.size()) return std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < one.size(); ++j) {
      largest = std::max(largest, static_cast<double>(std::abs(found[i][j] - one[j])));
    }
  }
  return largest;
}

class RecordCase : public testing::TestWithParam<std::string> {};

TEST_P(RecordCase, APassFromTheRecordGivesTheBitsOfTheWholePass) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const Rows whole = outputs_of(one.model(), one.inputs);
  for (std::size_t layer = 0; layer < one.sizes().layers; ++layer) {
    EXPECT_TRUE(outputs_of(one.model(), one.inputs, from_record(record, layer)) == whole) << layer;
  }
}

// In these, layers without attention come before the first one that has it.
TEST(RecordedPass, APassFromTheFirstLayerRunsNothingBeforeIt) {
  for (const std::string name : {"jamba", "bamba", "qwen3_next", "nemotron_h", "lfm2"}) {
    const Model model = Model::open(kPatchCases / "../families" / name);
    ASSERT_EQ(resolve_network(model).mixers.front().before, 0U) << name;
    const std::vector<ModelInput> inputs = {{.ids = {3, 1, 4, 1, 5}}, {.ids = {9, 2, 6}}};
    const RecordedPass record(model, inputs);
    const Rows whole = outputs_of(model, inputs);
    for (std::size_t layer = 0; layer < model.info().sizes.layers; ++layer) {
      EXPECT_TRUE(outputs_of(model, inputs, from_record(record, layer)) == whole) << name << ", layer " << layer;
    }
  }
}

// Not its bits: BLAS kernels of some processors round a row differently beside others. How much that changes the output
// depends on the model (2e-5 in gemma4, whose scores are not scaled, 1e-6 in most), so the bound is ten times what a
// change of the stream by its last bit does.
TEST_P(RecordCase, CopiesGiveTheOutputOfTheOriginal) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const ForwardOptions from_layer_1 = from_record(record, 1);
  const Rows single = outputs_of(one.model(), one.inputs, from_layer_1);

  ForwardOptions options = from_layer_1;
  options.start = [&](std::size_t input, MatrixSpan rows) {
    from_layer_1.start(input, rows);
    Random random(1, {input});
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      for (float& value : rows.row(i)) value = std::nextafter(value, random.uniform() < 0.5 ? -1e9F : 1e9F);
    }
  };
  const double last_bit = largest_difference(outputs_of(one.model(), one.inputs, options), single);
  ASSERT_GT(last_bit, 0);
  ASSERT_LT(last_bit, 1e-4);

  options = from_layer_1;
  options.copies = 3;
  const Rows copied = outputs_of(one.model(), one.inputs, options);
  ASSERT_EQ(copied.size(), 3 * single.size());
  EXPECT_LT(largest_difference(copied, single), 10 * last_bit);
}

TEST_P(RecordCase, HoldsWhatAPassReports) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  ForwardOptions options;
  std::size_t streams = 0;
  options.on_stream = [&](const StreamRows& rows) {
    ++streams;
    EXPECT_EQ(record.rows(rows.layer, rows.input), rows.values.rows());
    EXPECT_EQ(copy_of(record.stream(rows.layer, rows.input)), copy_of(rows.values));
  };
  options.on_heads = [&](const HeadOutputs& rows) {
    const std::size_t width = one.sizes().width(rows.layer, Role::kO);
    for (std::size_t a = 0; a < one.sizes().heads; ++a) {
      EXPECT_EQ(copy_of(record.output(one.sizes().head_of(rows.layer, a), rows.input)),
                copy_of(rows.values.block(0, rows.values.rows(), a * width, width)));
    }
  };
  run_forward(one.model(), one.inputs, options);
  EXPECT_EQ(streams, one.sizes().layers * one.inputs.size());
}

INSTANTIATE_TEST_SUITE_P(All, RecordCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

TEST(RecordedPass, APassOfSeveralStreamsNeedsTheStartOfAll) {
  const PatchCase one("gemma3n");
  const RecordedPass record(one.model(), one.inputs);
  ForwardOptions options = from_record(record, 1);
  options.start_side = {};
  EXPECT_ERROR(outputs_of(one.model(), one.inputs, options), ErrorKind::kInvalidArgument, "has a start for only one");
}

TEST(RecordedPass, TheMeanIsOverAllTokensOfAllInputs) {
  const PatchCase one("llama");
  const RecordedPass record(one.model(), one.inputs);
  const HeadId head{1, 2};
  const std::vector<float> mean = record.mean_output(head);
  ASSERT_EQ(mean.size(), one.sizes().d_head);
  for (std::size_t j = 0; j < mean.size(); ++j) {
    double sum = 0;
    double tokens = 0;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      for (std::size_t t = 0; t < record.tokens(i); ++t) sum += static_cast<double>(record.output(head, i)(t, j));
      tokens += static_cast<double>(record.tokens(i));
    }
    EXPECT_EQ(tokens, 9 + 14 + 5);
    EXPECT_NEAR(mean[j], sum / tokens, 1e-6);
  }
}

// A LayerNorm gives rows whose mean square, before gain and bias, is var * factor^2: just below 1.
TEST(RecordedPass, KnowsWhatTheNormsAfterBranchesDivideBy) {
  for (const std::string name : {"llama", "gpt2", "vit", "dinov2", "gpt_neox", "whisper"}) {
    const PatchCase one(name);
    const RecordedPass record(one.model(), one.inputs);
    EXPECT_TRUE(record.factors(1, false, 0).empty() && record.factors(1, true, 0).empty()) << name;
  }
  for (const std::string name : {"bert", "opt_post", "gemma2"}) {
    const PatchCase one(name);
    const RecordedPass record(one.model(), one.inputs);
    for (std::size_t layer = 0; layer < one.sizes().layers; ++layer) {
      for (const bool after_mlp : {false, true}) {
        ASSERT_EQ(record.factors(layer, after_mlp, 1).size(), record.tokens(1)) << name;
        for (const float factor : record.factors(layer, after_mlp, 1)) EXPECT_GT(factor, 0);
      }
    }
  }
}

TEST(RecordedPass, Refusals) {
  const PatchCase one("llama");
  EXPECT_ERROR(RecordedPass(one.model(), {}), ErrorKind::kInvalidArgument, "no inputs");
  EXPECT_ERROR(RecordedPass(one.model(), one.inputs, Context{.memory = 10000}), ErrorKind::kResource,
               "recording the activations");
  // The record fits, the pass beside it does not: 28 tokens * 3 layers * 34 floats.
  EXPECT_ERROR(RecordedPass(one.model(), one.inputs, Context{.memory = 12000}), ErrorKind::kResource, "running");
}

}  // namespace
}  // namespace headscope
