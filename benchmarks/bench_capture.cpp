// bench_capture MODEL TOKENS ROUNDS: seconds of a forward pass that keeps scores and patterns of every head in memory
// and computes all logits, compared with the raw matrix product for the same flops. Prints one JSON object.

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "benchmarks/measure.h"
#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/forward/forward.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"

namespace headscope::bench {
namespace {

// Sizes of a product of weights with activations.
struct Product {
  std::size_t out;
  std::size_t in;
};

std::vector<Product> products(const Network& network) {
  std::vector<Product> all;
  for (const NetworkLayer& layer : network.layers) {
    std::vector<const StoredTensor*> seen;
    for (const StoredLinear& linear : layer.linear) {
      if (std::ranges::find(seen, linear.weight) != seen.end()) continue;
      seen.push_back(linear.weight);
      all.push_back({linear.out(), linear.in()});
    }
    all.push_back({layer.up.out(), layer.up.in()});
    if (layer.gate) all.push_back({layer.gate->out(), layer.gate->in()});
    all.push_back({layer.down.out(), layer.down.in()});
  }
  if (network.output.unembedding) all.push_back({network.output.unembedding->out(), network.output.unembedding->in()});
  return all;
}

// Seconds that `work` takes for all products, on preallocated matrices.
template <typename Work>
double product_seconds(const std::vector<Product>& all, std::size_t tokens, const Work& work) {
  std::size_t weights = 0;
  std::size_t widest = 0;
  for (const Product& one : all) {
    weights = std::max(weights, one.in * one.out);
    widest = std::max({widest, one.in, one.out});
  }
  static std::vector<float> w;
  w.resize(weights, 0.5F);
  std::vector<float> x(tokens * widest, 1.0F);
  std::vector<float> y(tokens * widest);
  return seconds([&] {
    for (const Product& one : all) work(one, w.data(), x.data(), y.data());
  });
}

double raw_seconds(const std::vector<Product>& all, std::size_t tokens) {
  openblas_set_num_threads(static_cast<int>(thread_count()));
  const double taken = product_seconds(all, tokens, [&](const Product& one, float* w, float* x, float* y) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(tokens), static_cast<int>(one.out),
                static_cast<int>(one.in), 1, x, static_cast<int>(one.in), w, static_cast<int>(one.in), 0, y,
                static_cast<int>(one.out));
  });
  openblas_set_num_threads(1);
  return taken;
}

double our_product_seconds(const std::vector<Product>& all, std::size_t tokens) {
  return product_seconds(all, tokens, [&](const Product& one, float* w, float* x, float* y) {
    parallel_multiply(MatrixView(x, tokens, one.in, one.in), MatrixView(w, one.out, one.in, one.in).transposed(),
                      MatrixSpan(y, tokens, one.out, one.out));
  });
}

void run(const char* path, std::size_t tokens, int rounds) {
  const Model model = Model::open(path);
  const Network network = resolve_network(model);
  const HeadSizes& sizes = model.info().sizes;
  Random random(1);
  ModelInput input;
  for (std::size_t i = 0; i < tokens; ++i) input.ids.push_back(static_cast<std::uint32_t>(random.index(1000)));
  const std::vector<ModelInput> inputs = {input};

  const std::size_t size = sizes.layers * sizes.heads * tokens * tokens;
  Buffer<float> scores(size);
  Buffer<float> pattern(size);
  const auto keep = [&](Buffer<float>& to, const MapRows& rows) {
    const std::size_t first = ((rows.layer * sizes.heads + rows.head) * tokens + rows.first_query) * tokens;
    std::copy_n(rows.values.data(), rows.values.rows() * tokens, to.data() + first);
  };
  double last = 0;
  ForwardOptions options;
  options.on_scores = [&](const MapRows& rows) { keep(scores, rows); };
  options.on_pattern = [&](const MapRows& rows) { keep(pattern, rows); };
  options.on_output = [&](const OutputRows& rows) { last = static_cast<double>(rows.values(0, 0)); };

  const std::vector<Product> all = products(network);
  double flops = 0;
  for (const Product& one : all) flops += 2.0 * static_cast<double>(tokens * one.in * one.out);
  std::vector<double> ours, raw, multiply, shares;
  run_forward(model, inputs, options);
  for (int round = 0; round < rounds; ++round) {
    raw.push_back(raw_seconds(all, tokens));
    multiply.push_back(our_product_seconds(all, tokens));
    ours.push_back(seconds([&] { run_forward(model, inputs, options); }));
    shares.push_back(raw.back() / multiply.back());
  }
  std::cout << fmt::format(
      R"({{"threads": {}, "tokens": {}, "gflop": {}, "ours": {}, "best": {}, "raw": {}, "products": {}, "share": {}, "check": {}}})"
      "\n",
      thread_count(), tokens, flops / 1e9, median(ours), *std::ranges::min_element(ours), median(raw), median(multiply),
      median(shares), last);
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_capture MODEL TOKENS ROUNDS\n";
    return 2;
  }
  headscope::bench::run(argv[1], std::stoul(argv[2]), std::stoi(argv[3]));
}
