// bench_relate MODEL: the time of `relate` (pk; OQ, OK, OV; earlier to later; from the file to edges, graph and hubs)
// divided by its floor: the raw matrix product for the flops that are kept plus LAPACK's QR of every head. Prints one
// JSON object.

#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/raw_product.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/relate/relate.h"

extern "C" {
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork,
             int* info);
void sorgqr_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau, float* work,
             const int* lwork, int* info);
}

namespace headscope::bench {
namespace {

// Flops for all pairs of heads from an earlier to a later layer, over the three pairs of roles.
double kept_flops(const HeadSizes& sizes) {
  const auto layers = static_cast<double>(sizes.layers);
  const double layer_pairs = layers * (layers - 1) / 2;
  const double heads = static_cast<double>(sizes.heads * (sizes.heads + 2 * sizes.kv_heads));
  return layer_pairs * heads * 2 * static_cast<double>(sizes.d_head * sizes.d_head * sizes.d_model);
}

// Seconds of LAPACK's blocked Householder QR, with Q formed, of every head's Q, K, V and O.
double qr_seconds(const HeadSizes& sizes) {
  const std::size_t matrices = sizes.layers * (2 * sizes.heads + 2 * sizes.kv_heads);
  const auto d = static_cast<int>(sizes.d_model);
  const auto h = static_cast<int>(sizes.d_head);
  std::vector<float> source(sizes.d_model * sizes.d_head);
  Random(1).fill_normal(source);
  return seconds([&] {
    parallel_for(matrices, [&](std::size_t) {
      std::vector<float> a = source;
      std::vector<float> tau(sizes.d_head);
      std::vector<float> work(64 * sizes.d_head);
      const int size = static_cast<int>(work.size());
      int info = 0;
      sgeqrf_(&d, &h, a.data(), &d, tau.data(), work.data(), &size, &info);
      sorgqr_(&d, &h, &h, a.data(), &d, tau.data(), work.data(), &size, &info);
    });
  });
}

void run(const char* path, int rounds) {
  const HeadSizes sizes = Model::open(path).info().sizes;
  const double flops = kept_flops(sizes);
  RelateOptions options;
  options.affinity.earlier_only = true;
  options.nulls = {NullModel::kIsotropic};
  std::vector<double> ours;
  std::vector<double> with_all_nulls;
  std::vector<double> product;
  std::vector<double> qr;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    product.push_back(flops / raw_product_rate(static_cast<int>(sizes.d_model)));
    qr.push_back(qr_seconds(sizes));
    ours.push_back(seconds([&] { (void)relate(Model::open(path), options, {.memory = std::size_t{1} << 30}); }));
    ratios.push_back(ours.back() / (product.back() + qr.back()));
  }
  options.nulls = {};
  with_all_nulls.push_back(
      seconds([&] { (void)relate(Model::open(path), options, {.memory = std::size_t{1} << 30}); }));
  std::cout << fmt::format(
      R"({{"threads": {}, "gflop": {}, "ours": {}, "product": {}, "qr": {}, "ratio": {}, "all_nulls": {}}})"
      "\n",
      thread_count(), flops / 1e9, median(ours), median(product), median(qr), median(ratios), median(with_all_nulls));
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_relate MODEL ROUNDS\n";
    return 2;
  }
  headscope::bench::run(argv[1], std::stoi(argv[2]));
}
