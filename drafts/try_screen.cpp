#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include "headscope/patch/screen.h"
#include "headscope/patch/cut.h"
using namespace headscope;
int main(int argc, char** argv) {
  const Model model = Model::open(argv[1]);
  std::vector<ModelInput> inputs;
  std::mt19937 random(0);
  const int count = argc > 2 ? atoi(argv[2]) : 4;
  for (int i = 0; i < count; ++i) {
    ModelInput in; in.ids.push_back(1);
    std::vector<std::uint32_t> half;
    for (int k = 0; k < 32; ++k) half.push_back(100 + random() % 40000);
    for (int r = 0; r < 2; ++r) for (auto id : half) in.ids.push_back(id);
    inputs.push_back(in);
  }
  RecordedPass record(model, inputs);
  HeadChange change(record, Replacement::kMean);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Role> roles = {Role::kQ, Role::kK, Role::kV};
  const auto screens = screen(record, change, roles);
  std::printf("screen %.2f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  const auto& sizes = model.info().sizes;
  std::vector<std::vector<Readout>> readouts;
  for (auto& in : inputs) readouts.push_back(next_token_readouts(in, 33));
  CutMeter meter(record, change, readouts);
  const double before = meter.before();
  for (const Screen& one : screens) {
    const std::size_t targets = one.role == Role::kQ ? sizes.heads : sizes.kv_heads;
    std::vector<std::tuple<float, std::size_t, std::size_t>> all;
    for (std::size_t i = 0; i < one.values.rows(); ++i) for (std::size_t j = 0; j < one.values.columns(); ++j) if (one.values(i,j) > 0) all.push_back({-one.values(i, j), i, j});
    std::ranges::sort(all);
    std::vector<PatchEdge> edges;
    for (int k = 0; k < 8; ++k) { auto [v,i,j] = all[k]; edges.push_back({{i / sizes.heads, i % sizes.heads}, one.role, {j / targets, j % targets, one.role != Role::kQ}}); }
    const auto t0 = std::chrono::steady_clock::now();
    const auto after = meter.measure(edges);
    for (int k = 0; k < 8; ++k) std::printf("%d %s>%s local %.4f effect %+.4f\n", (int)one.role, to_string(edges[k].source).c_str(), to_string(edges[k].target).c_str(), -std::get<0>(all[k]), after[k] - before);
    std::printf("8 cuts %.2f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
  }
}
