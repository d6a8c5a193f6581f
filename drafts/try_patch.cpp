#include <cstdio>
#include <random>
#include "headscope/patch/cut.h"
using namespace headscope;
int main(int argc, char** argv) {
  const Model model = Model::open(argv[1]);
  std::vector<ModelInput> inputs;
  std::mt19937 random(argc > 2 ? atoi(argv[2]) : 0);
  for (int i = 0; i < 4; ++i) {
    ModelInput in; in.ids.push_back(1);
    std::vector<std::uint32_t> half;
    for (int k = 0; k < 32; ++k) half.push_back(100 + random() % 40000);
    for (int r = 0; r < 2; ++r) for (auto id : half) in.ids.push_back(id);
    inputs.push_back(in);
  }
  RecordedPass record(model, inputs);
  HeadChange change(record, Replacement::kMean);
  std::vector<std::vector<Readout>> readouts;
  for (auto& in : inputs) readouts.push_back(next_token_readouts(in, 33));
  CutMeter meter(record, change, readouts);
  const double before = meter.before();
  std::printf("before %.4f\n", before);
  std::vector<PatchEdge> edges = {{{16,0}, Role::kK, {17,1,true}}, {{16,0}, Role::kK, {18,2,true}}, {{17,8}, Role::kK, {18,2,true}}, {{16,1},Role::kK,{17,1,true}}, {{16,2},Role::kQ,{17,4}}, {{16,3},Role::kV,{18,0,true}}};
  const auto after = meter.measure(edges);
  for (std::size_t i = 0; i < edges.size(); ++i) std::printf("%s %d %s %+.4f\n", to_string(edges[i].source).c_str(), (int)edges[i].role, to_string(edges[i].target).c_str(), after[i] - before);
}
