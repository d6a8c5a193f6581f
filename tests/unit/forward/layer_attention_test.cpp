// The patterns that the screen of cut edges makes head by head are those of the forward pass, in every family whose
// edges can be cut.

#include "headscope/forward/layer_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headscope/model/readiness.h"
#include "support/golden_inputs.h"
#include "support/tower_case.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden";

std::vector<std::string> cases() {
  std::vector<std::string> names = testing_support::tower_cases(kGolden / "towers");
  for (const std::string folder : {"forward", "families"}) {
    for (const auto& entry : fs::directory_iterator(kGolden / folder)) {
      if (!fs::exists(entry.path() / "config.json") || !fs::exists(entry.path() / "expected.npz")) continue;
      names.push_back(folder + "/" + entry.path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

bool is_patchable(const Model& model) {
  const std::vector<Readiness> all = readiness(model);
  return std::ranges::any_of(all, [](const Readiness& one) { return one.command == "patch" && one.ready; });
}

// What a pass reports, by layer and input, and by head.
struct Recorded {
  std::map<std::pair<std::size_t, std::size_t>, Matrix> streams;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Matrix> patterns;
  std::map<std::pair<std::size_t, std::size_t>, Matrix> lent_keys;  // of layers that lend them
};

Recorded record(const Model& model, const std::vector<ModelInput>& inputs) {
  Recorded all;
  const HeadSizes& sizes = model.info().sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t tokens = token_count(model, inputs[i]);
    for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
      all.streams[{layer, i}] = Matrix(tokens, sizes.d_model);
      for (std::size_t a = 0; a < sizes.heads; ++a) all.patterns[{layer, i, a}] = Matrix(tokens, tokens);
    }
  }
  const auto copy = [](MatrixView from, Matrix& to, std::size_t first) {
    for (std::size_t t = 0; t < from.rows(); ++t) {
      std::copy_n(from.data() + t * from.row_stride(), from.columns(), to.row(first + t).begin());
    }
  };
  ForwardOptions options;
  options.on_stream = [&](const StreamRows& rows) { copy(rows.values, all.streams.at({rows.layer, rows.input}), 0); };
  options.on_pattern = [&](const MapRows& rows) {
    copy(rows.values, all.patterns.at({rows.layer, rows.input, rows.head}), rows.first_query);
  };
  options.on_lent_keys = [&](const LentRows& rows) {
    Matrix keys(rows.keys.rows(), rows.keys.columns());
    copy(rows.keys, keys, 0);
    all.lent_keys.try_emplace({rows.layer, rows.input}, std::move(keys));
  };
  run_forward(model, inputs, options);
  return all;
}

Matrix head_columns(const Matrix& all, std::size_t head, std::size_t heads) {
  const std::size_t width = all.columns() / heads;
  Matrix own(all.rows(), width);
  for (std::size_t t = 0; t < all.rows(); ++t) {
    std::ranges::copy(all.row(t).subspan(head * width, width), own.row(t).begin());
  }
  return own;
}

void expect_patterns_of_the_pass(const Model& model, const std::vector<ModelInput>& inputs) {
  const HeadSizes& sizes = model.info().sizes;
  const Recorded pass = record(model, inputs);
  std::vector<InputShape> shapes;
  for (const ModelInput& input : inputs) shapes.push_back(input_shape(model, input));
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const LayerAttention attention(model, layer, shapes);
    const std::size_t lender = sizes.kv_layer(layer);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const MatrixView stream = pass.streams.at({layer, i}).view();
      const ProjectedHeads raw = attention.project(stream, stream);
      for (std::size_t a = 0; a < sizes.heads; ++a) {
        const std::size_t kv = a / sizes.queries_per_kv(layer);
        Matrix q = head_columns(raw.q, a, sizes.heads);
        const Matrix& keys = lender == layer ? raw.k : pass.lent_keys.at({lender, i});
        Matrix k = head_columns(keys, kv, sizes.heads / sizes.queries_per_kv(layer));
        attention.place(Role::kQ, a, i, q.span());
        if (lender == layer) attention.place(Role::kK, kv, i, k.span());
        Matrix found(q.rows(), k.rows());
        attention.pattern(a, i, q.view(), k.view(), found.span());
        const Matrix& expected = pass.patterns.at({layer, i, a});
        double worst = 0;
        for (std::size_t j = 0; j < found.values().size(); ++j) {
          worst = std::max(worst, std::abs(static_cast<double>(found.values()[j] - expected.values()[j])));
        }
        ASSERT_LT(worst, 1e-5) << "layer " << layer << ", input " << i << ", head " << a;
      }
    }
  }
}

TEST(LayerAttention, MakesThePatternsOfTheForwardPass) {
  std::size_t compared = 0;
  for (const std::string& name : cases()) {
    SCOPED_TRACE(name);
    const testing_support::TowerCase place = testing_support::tower_case(kGolden / name);
    const Model model = Model::open(place.folder, {.tower = place.tower});
    if (model.info().sizes.has_blocks() || !is_patchable(model)) continue;
    const std::string arrays = place.tower.empty() ? "expected.npz" : "expected_" + place.tower + ".npz";
    expect_patterns_of_the_pass(model, test::inputs_of(NpzFile::open(place.folder / arrays)));
    ++compared;
  }
  EXPECT_GT(compared, 150u);
}

}  // namespace
}  // namespace headscope
