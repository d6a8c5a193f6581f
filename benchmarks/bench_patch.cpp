// bench_patch MODEL IDS.npy EDGES.csv FIRST ROUNDS: seconds of the screen of one input compared with `relate` on the
// same pairs, of single cuts compared with a forward pass of the remaining layers, and of all cuts in batches. Prints
// one JSON object, with the effects in nats.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <string>
#include <vector>

#include "app/patch_edges.h"
#include "benchmarks/measure.h"
#include "headscope/base/parallel.h"
#include "headscope/io/npy.h"
#include "headscope/patch/cut.h"
#include "headscope/patch/screen.h"
#include "headscope/relate/relate.h"

namespace headscope::bench {
namespace {

std::vector<ModelInput> read_ids(const std::string& path) {
  const NpyFile file = NpyFile::open(path);
  const std::size_t tokens = file.array().shape.back();
  std::vector<ModelInput> inputs;
  std::size_t index = 0;
  for (const std::int64_t id : npy_values<std::int64_t>(file.array(), path)) {
    if (index++ % tokens == 0) inputs.emplace_back();
    inputs.back().ids.push_back(static_cast<std::uint32_t>(id));
  }
  return inputs;
}

Comparison compare_screen(const Model& model, std::span<const ModelInput> input, int rounds) {
  const std::vector<Role> roles = {Role::kQ, Role::kK, Role::kV};
  RelateOptions options;
  options.affinity.earlier_only = true;
  return compare(
      [&] {
        const RecordedPass record(model, input);
        const HeadChange change(record, Replacement::kMean);
        (void)screen(record, change, roles);
      },
      [&] { (void)relate(model, options); }, rounds);
}

// Every n-th edge, one at a time, and the layers from its target on without a cut.
Comparison compare_cut(const RecordedPass& record, const CutMeter& meter, std::span<const PatchEdge> edges,
                       std::size_t first, int rounds) {
  constexpr std::size_t kEvery = 30;
  const auto each = [&](const auto& work) {
    for (std::size_t i = 0; i < edges.size(); i += kEvery) work(edges[i]);
  };
  return compare([&] { each([&](const PatchEdge& edge) { (void)meter.measure(std::span(&edge, 1)); }); },
                 [&] {
                   each([&](const PatchEdge& edge) {
                     ForwardOptions pass;
                     pass.begin_layer = edge.target.layer;
                     pass.start = [&](std::size_t input, MatrixSpan rows) {
                       const MatrixView from = record.stream(edge.target.layer, input);
                       for (std::size_t t = 0; t < from.rows(); ++t) {
                         std::copy_n(from.data() + t * from.row_stride(), from.columns(), rows.row(t).begin());
                       }
                     };
                     pass.first_output = first;
                     pass.on_output = [](const OutputRows&) {};
                     run_forward(record.model(), record.inputs(), pass);
                   });
                 },
                 rounds);
}

}  // namespace
}  // namespace headscope::bench

int main(int count, char** words) {
  using namespace headscope;
  using namespace headscope::bench;
  if (count != 6) return 2;
  const Model model = Model::open(words[1]);
  const std::vector<ModelInput> inputs = read_ids(words[2]);
  const std::vector<PatchEdge> edges = app::read_edges(words[3], model.info().sizes).heads;
  const std::size_t first = std::stoul(words[4]);
  const int rounds = std::stoi(words[5]);

  const Comparison screened = compare_screen(model, std::span(inputs).first(1), rounds);
  const RecordedPass record(model, inputs);
  const HeadChange change(record, Replacement::kMean);
  std::vector<std::vector<Readout>> readouts;
  for (const ModelInput& input : inputs) readouts.push_back(next_token_readouts(input, first));
  const CutMeter meter(record, change, readouts);
  const Comparison cut = compare_cut(record, meter, edges, first, rounds);
  std::vector<double> effects;
  const double before = meter.before();
  const double all = seconds([&] { effects = meter.measure(edges); });
  for (double& effect : effects) effect -= before;
  std::cout << fmt::format(
      R"({{"threads": {}, "screen": {}, "relate": {}, "screen_ratio": {}, "cut": {}, "layers": {}, "cut_ratio": {}, )"
      R"("cuts": {}, "batched": {}, "before": {}, "effects": [{}]}})"
      "\n",
      thread_count(), screened.ours, screened.floor, screened.ratio, cut.ours, cut.floor, cut.ratio, edges.size(), all,
      before, fmt::join(effects, ", "));
}
