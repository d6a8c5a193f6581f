// bench_gpu relate PRECISION LAYERS HEADS WIDTH D ROUNDS: OQ of every earlier layer with every later one on the device,
// alternating with the same number of flops in plain products of 8192 x 8192 x D; weights are random.
// bench_gpu organize HEADS SIDE ROUNDS: tree distances of HEADS maps of SIDE x SIDE along all three axes, on the device
// and on the CPU. Prints one JSON object.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "cuda/blas.h"
#include "cuda/upload.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::bench {
namespace {

const std::map<std::string, Precision> kPrecisions = {{"float32", Precision::kFloat32},
                                                      {"tf32", Precision::kTf32},
                                                      {"fp16", Precision::kFp16},
                                                      {"bf16", Precision::kBf16}};

// Truncates to half or bf16.
std::uint16_t cut(float value, Precision precision) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (precision == Precision::kBf16) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t exponent = bits >> 23 & 0xff;  // only normal numbers, of magnitude 2^-14 or more
  if (exponent < 127 - 14) return 0;
  return static_cast<std::uint16_t>(bits >> 16 & 0x8000) |
         static_cast<std::uint16_t>((exponent - 127 + 15) << 10 | (bits >> 13 & 0x3ff));
}

void fill(std::span<float> values, std::uint64_t seed) {
  constexpr std::size_t kPart = 1 << 16;
  parallel_for((values.size() + kPart - 1) / kPart, [&](std::size_t i) {
    Random(seed, {i}).fill_normal(values.subspan(i * kPart, std::min(kPart, values.size() - i * kPart)));
  });
}

struct Sizes {
  std::size_t layers;
  std::size_t heads;
  std::size_t width;
  std::size_t d;

  [[nodiscard]] std::size_t layer_size() const { return heads * width * d; }
  [[nodiscard]] double flops() const {
    const auto pairs = static_cast<double>(layers * (layers - 1)) / 2;
    return pairs * 2 * static_cast<double>(d) * std::pow(static_cast<double>(heads * width), 2);
  }
};

FactorWeights random_layer(const Sizes& sizes, std::uint64_t seed) {
  FactorWeights weights;
  Buffer<float> values(sizes.layer_size());
  fill(values.values(), seed);
  weights.outer = HeadWeights(Role::kQ, sizes.d, sizes.width, std::move(values));
  for (std::size_t i = 0; i < sizes.heads; ++i) weights.heads.push_back(i);
  weights.rank_tolerance = 0x1p-8;  // for BF16
  return weights;
}

// Plain products of random matrices, of a size that suits cuBLAS.
class PlainProduct {
 public:
  PlainProduct(Precision precision, std::size_t d)
      : precision_(precision), d_(d), blas_(stream_), c_(kSide * kSide * 4) {
    Buffer<float> values(kSide * d);
    for (cuda::DeviceMemory* matrix : {&a_, &b_}) {
      fill(values.values(), matrix == &a_ ? 1 : 2);
      const bool half = precision == Precision::kBf16 || precision == Precision::kFp16;
      *matrix = cuda::DeviceMemory(values.size() * (half ? 2 : 4));
      std::vector<std::uint16_t> halves;
      for (std::size_t i = 0; half && i < values.size(); ++i) {
        halves.push_back(cut(values.data()[i], precision));
      }
      const void* from = half ? static_cast<const void*>(halves.data()) : values.data();
      cuda::check(cudaMemcpy(matrix->as(), from, matrix->bytes(), cudaMemcpyHostToDevice), "copy");
    }
    cuda::check(cudaDeviceSynchronize(), "copy");
  }

  void run(double flops) const {
    const double each = 2.0 * static_cast<double>(d_) * kSide * kSide;
    const auto count = static_cast<std::size_t>(std::max(1.0, std::round(flops / each)));
    for (std::size_t i = 0; i < count; ++i) {
      blas_.product(precision_, {a_.as(), kSide, d_}, {b_.as(), kSide, d_}, d_, c_.as<float>());
    }
    stream_.wait();
  }

 private:
  static constexpr std::size_t kSide = 8192;
  Precision precision_;
  std::size_t d_;
  cuda::Stream stream_;
  cuda::Blas blas_;
  cuda::DeviceMemory a_;
  cuda::DeviceMemory b_;
  cuda::DeviceMemory c_;
};

double best_of(int rounds, const std::function<void()>& work) {
  double best = seconds(work);
  for (int round = 1; round < rounds; ++round) best = std::min(best, seconds(work));
  return best;
}

using Layers = std::vector<std::unique_ptr<PreparedLayer>>;

// Computes one target layer with all layers before it.
void begin_target(const AffinityEngine& engine, const Layers& sources, const PreparedLayer& target, std::size_t t,
                  std::vector<float>& out) {
  const std::size_t heads = target.ranks.size();
  out.resize(t * heads * heads);
  std::vector<LayerBlock> blocks;
  for (std::size_t s = 0; s < t; ++s) {
    blocks.push_back({sources[s].get(), &target, out.data() + s * heads * heads, heads});
  }
  engine.compute(blocks);
}

// The whole computation as in relate: prepares the sources, then one target after another while products are running.
double whole_seconds(const AffinityEngine& engine, const Sizes& sizes, const std::vector<FactorWeights>& weights) {
  return seconds([&] {
    Layers sources;
    Layers targets;
    std::vector<std::vector<float>> out(sizes.layers);
    for (std::size_t s = 0; s + 1 < sizes.layers; ++s) sources.push_back(engine.prepare(weights[s % weights.size()]));
    for (std::size_t t = 1; t < sizes.layers; ++t) {
      targets.push_back(engine.prepare(weights[t % weights.size()]));
      begin_target(engine, sources, *targets.back(), t, out[t]);
    }
    engine.wait();
  });
}

void relate(const std::string& precision, const Sizes& sizes, int rounds) {
  const auto engine = cuda_affinity_engine(0, kPrecisions.at(precision));
  std::vector<FactorWeights> weights;
  for (std::uint64_t seed = 0; seed < 3; ++seed) weights.push_back(random_layer(sizes, seed));
  static_cast<void>(engine->prepare(weights[0]));  // warm up

  const cuda::Device device = cuda::open_device(0);
  cuda::Upload upload;
  const cuda::Stream stream;
  const cuda::DeviceMemory there(sizes.layer_size() * sizeof(float));
  const auto send = [&] {
    for (std::size_t i = 0; i < 4; ++i) {
      const cuda::HostBytes parts[] = {std::as_bytes(weights[i % 3].outer.values())};
      upload.send(parts, stream, there.as<std::byte>());
    }
    stream.wait();
  };
  const double upload_seconds = best_of(3, send) / 4;
  const auto prepare_seconds = [&] {
    return best_of(3,
                   [&] {
                     for (std::size_t i = 0; i < 4; ++i) static_cast<void>(engine->prepare(weights[i % 3]));
                   }) /
           4;
  };
  const double prepare = prepare_seconds();
  for (FactorWeights& layer : weights) layer.rank_tolerance = 0.9;  // no head is known to have full rank
  const double eigen = prepare_seconds();
  for (FactorWeights& layer : weights) layer.rank_tolerance = 0x1p-8;

  Layers layers;
  for (std::size_t i = 0; i < 2 * sizes.layers - 2; ++i) layers.push_back(engine->prepare(weights[i % 3]));
  const PlainProduct plain(kPrecisions.at(precision), sizes.d);
  std::vector<std::vector<float>> out(sizes.layers);
  const auto ours = [&] {
    for (std::size_t t = 1; t < sizes.layers; ++t) {
      begin_target(*engine, layers, *layers[sizes.layers - 2 + t], t, out[t]);
    }
    engine->wait();
  };
  const Comparison products = compare(
      ours, [&] { plain.run(sizes.flops()); }, rounds);
  layers.clear();
  const double whole = whole_seconds(*engine, sizes, weights);
  std::cout << fmt::format(
      R"({{"device": "{}", "precision": "{}", "layers": {}, "heads": {}, "width": {}, "d": {}, "tflop": {}, )"
      R"("products": {}, "ceiling": {}, "share": {}, "upload": {}, "prepare": {}, "eigen": {}, "whole": {}}})"
      "\n",
      device.name, precision, sizes.layers, sizes.heads, sizes.width, sizes.d, sizes.flops() / 1e12, products.ours,
      products.floor, 1 / products.ratio, upload_seconds * 2 * static_cast<double>(sizes.layers - 1),
      prepare * 2 * static_cast<double>(sizes.layers - 1), eigen * 2 * static_cast<double>(sizes.layers - 1), whole);
}

PartitionTree binary(std::size_t n) {
  std::vector<PartitionTree::Level> levels = {{{}}};
  for (std::size_t i = 0; i < n; ++i) levels[0][0].push_back(i * 37 % n);
  while (levels.back().size() < n) {
    PartitionTree::Level next;
    for (const auto& folder : levels.back()) {
      const auto middle = folder.begin() + static_cast<std::ptrdiff_t>((folder.size() + 1) / 2);
      next.emplace_back(folder.begin(), middle);
      if (folder.size() > 1) next.emplace_back(middle, folder.end());
    }
    levels.push_back(std::move(next));
  }
  return PartitionTree(levels);
}

void organize(std::size_t heads, std::size_t side, int rounds) {
  Buffer<float> values(heads * side * side);
  fill(values.values(), 1);
  const PartitionTree head_tree = binary(heads);
  const PartitionTree side_tree = binary(side);
  const std::size_t map = side * side;
  const TensorSlices axes[] = {
      {values.data(), heads, side, side, map, side, 1, nullptr, 0, 0, 0},
      {values.data(), side, heads, side, side, map, 1, nullptr, 0, 0, 0},
      {values.data(), side, heads, side, 1, map, side, nullptr, 0, 0, 0},
  };
  double difference = 0;
  double bind[2] = {};
  double compute[2] = {};
  for (int axis = 0; axis < 3; ++axis) {
    DoubleMatrix found[2];
    for (const int cpu : {0, 1}) {
      const auto distance = cpu == 1 ? cpu_tree_distance() : cuda_tree_distance();
      std::unique_ptr<SliceDistances> bound;
      bind[cpu] += seconds([&] { bound = distance->bind(axes[axis], AbsentEntries::kZero); });
      std::vector<double> times;
      for (int round = 0; round < (cpu == 1 ? 1 : rounds); ++round) {
        times.push_back(
            seconds([&] { found[cpu] = bound->compute(axis == 0 ? side_tree : head_tree, side_tree, {}, {}); }));
      }
      compute[cpu] += median(times);
    }
    double largest = 0;
    double off = 0;
    for (std::size_t i = 0; i < found[0].values().size(); ++i) {
      largest = std::max(largest, found[1].values()[i]);
      off = std::max(off, std::abs(found[0].values()[i] - found[1].values()[i]));
    }
    difference = std::max(difference, off / largest);
  }
  std::cout << fmt::format(
      R"({{"shape": "{} x {} x {}", "threads": {}, "device": {}, "device_bind": {}, "cpu": {}, "cpu_bind": {}, )"
      R"("difference": {}}})"
      "\n",
      side, side, heads, thread_count(), compute[0], bind[0], compute[1], bind[1], difference);
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 7 && words[0] == "relate" && headscope::bench::kPrecisions.contains(words[1])) {
    headscope::bench::relate(words[1],
                             {std::stoul(words[2]), std::stoul(words[3]), std::stoul(words[4]), std::stoul(words[5])},
                             std::stoi(words[6]));
    return 0;
  }
  if (words.size() == 4 && words[0] == "organize") {
    headscope::bench::organize(std::stoul(words[1]), std::stoul(words[2]), std::stoi(words[3]));
    return 0;
  }
  std::cerr << "usage: bench_gpu relate PRECISION LAYERS HEADS WIDTH D ROUNDS | bench_gpu organize HEADS SIDE ROUNDS\n";
  return 2;
}
