// bench_organize HEADS QUERIES KEYS ROUNDS: the questionnaire with three iterations, compared with the time that the
// maxima of its distances would take in a loop that never leaves the registers; and its two inner loops, each compared
// with its own floor. Prints one JSON object.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/register_loop.h"
#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/tree/haar.h"
#include "organize/l1_tile.h"

namespace headscope::bench {
namespace {

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A tensor that is smooth on hidden binary trees, shuffled, with a little noise.
NetworkTensor make_tensor(std::size_t heads, std::size_t queries, std::size_t keys) {
  const Shape shape = {heads, queries, keys};
  std::vector<float> values(heads * queries * keys, 0.0F);
  Random random(1);
  const auto factors = [&](std::size_t n, std::size_t folders) {
    std::vector<float> of_folder(folders);
    random.fill_normal(of_folder);
    std::vector<float> result(n);
    for (std::size_t i = 0; i < n; ++i) result[i] = of_folder[i * 2654435761U % n * folders / n];
    return result;
  };
  for (std::size_t level = 0; level < 7; ++level) {
    const std::size_t folders = std::size_t{1} << level;
    const auto h = factors(heads, folders);
    const auto q = factors(queries, folders);
    const auto k = factors(keys, folders);
    const float scale = std::pow(0.6F, static_cast<float>(level));
    parallel_for(heads * queries, [&](std::size_t row) {
      const float here = scale * h[row / queries] * q[row % queries];
      for (std::size_t i = 0; i < keys; ++i) values[row * keys + i] += here * k[i];
    });
  }
  parallel_for(heads, [&](std::size_t head) {
    Random noise(2, {head});
    for (std::size_t i = 0; i < queries * keys; ++i) {
      values[head * queries * keys + i] += 0.1F * static_cast<float>(noise.uniform() - 0.5);
    }
  });
  return make_network_tensor(values, shape, {}, "bench");
}

// Number of maxima that one iteration computes with these trees: pairs of slices times pairs of folders.
double maxima(const Organization& o) {
  const auto folders = [](const AxisOrganization& axis) {
    return static_cast<double>(weighted_folders(axis.tree).size());
  };
  const auto pairs = [](const AxisOrganization& axis) {
    const auto n = static_cast<double>(axis.tree.size());
    return n * (n + 1) / 2;
  };
  return pairs(o.head) * folders(o.query) * folders(o.key) + pairs(o.query) * folders(o.head) * folders(o.key) +
         pairs(o.key) * folders(o.head) * folders(o.query);
}

// Maxima per second of one thread, from registers.
double register_rate() {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    float sink[4] = {0.1F, 0.2F, 0.3F, 0.4F};
    double count = 0;
    const double begin = processor_seconds();
    count = register_loop(3'000'000, sink);
    best = std::max(best, count / (processor_seconds() - begin));
  }
  return best;
}

// Maxima per second of one thread, by the kernel on panels in the L2 cache.
double kernel_rate() {
  constexpr std::size_t kFeatures = 256;
  constexpr std::size_t kFolders = 4;
  constexpr std::size_t kSize = kFeatures * kFeatureRow;
  Buffer<float> panels(3 * kFolders * kSize);
  Random(3).fill_normal(panels.values());
  constexpr TilePlace kPlace{2};
  Buffer<float> sums(kPlace.sums());
  std::ranges::fill(sums.values(), 0.0F);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    constexpr std::size_t kCalls = 2000;
    const double begin = processor_seconds();
    for (std::size_t call = 0; call < kCalls; ++call) {
      const float* folder = panels.data() + call % kFolders * 3 * kSize;
      const float* const a[] = {folder, folder + kSize};
      add_maxima(a, folder + 2 * kSize, kFeatures, false, sums.data());
    }
    best = std::max(best, static_cast<double>(kCalls * kFeatures * kPlace.sums()) / (processor_seconds() - begin));
  }
  return best;
}

PartitionTree binary(std::size_t n) {
  std::vector<PartitionTree::Level> levels;
  for (std::size_t width = n;; width /= 2) {
    auto& level = levels.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      if (i % width == 0) level.emplace_back();
      level.back().push_back(i * 37 % n);
    }
    if (width == 1) return PartitionTree(levels);
  }
}

// The time of one pass of a transform divided by that of copying the same bytes, along keys, queries and heads of a
// tensor of 64 x 1024 x 1024.
std::vector<double> haar_over_copy(int rounds) {
  constexpr std::size_t kHeads = 64;
  constexpr std::size_t kSide = 1024;
  std::vector<float> values(kHeads * kSide * kSide, 1.0F);
  std::vector<float> copy(values.size(), 0.0F);
  const HaarBasis side(binary(kSide));
  const HaarBasis head(binary(kHeads));
  const auto copy_all = [&] {
    constexpr std::size_t kParts = 256;
    parallel_for(kParts, [&](std::size_t p) {
      const std::size_t part = values.size() / kParts;
      std::memcpy(copy.data() + p * part, values.data() + p * part, part * sizeof(float));
    });
  };
  const auto ratio = [&](std::size_t outer, const HaarBasis& basis, std::size_t inner) {
    return compare([&] { haar_transform(values, outer, basis, inner, HaarDirection::kForward); }, copy_all, rounds)
        .ratio;
  };
  return {ratio(kHeads * kSide, side, 1), ratio(kHeads, side, kSide), ratio(1, head, kSide * kSide)};
}

void run(std::size_t heads, std::size_t queries, std::size_t keys, int rounds) {
  const NetworkTensor tensor = make_tensor(heads, queries, keys);
  std::vector<double> wall;
  std::vector<double> processor;
  double work = 0;
  for (int round = 0; round < rounds; ++round) {
    const double begin = processor_seconds();
    wall.push_back(seconds([&] { work = maxima(organize(tensor, {}, {.memory = std::size_t{4} << 30})); }));
    processor.push_back(processor_seconds() - begin);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double rate = register_rate();
  const double kernel = kernel_rate();
  const std::vector<double> haar = haar_over_copy(5);
  std::cout << fmt::format(
      R"({{"shape": "{} x {} x {}", "threads": {}, "seconds": {}, "processor_seconds": {}, "megabytes": {}, )"
      R"("floor": {}, "register_rate": {}, "kernel_rate": {}, "haar_key": {}, "haar_query": {}, "haar_head": {}}})"
      "\n",
      queries, keys, heads, thread_count(), *std::min_element(wall.begin(), wall.end()),
      *std::min_element(processor.begin(), processor.end()), usage.ru_maxrss / 1024,
      3 * work / rate / static_cast<double>(thread_count()), rate, kernel, haar[0], haar[1], haar[2]);
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: bench_organize HEADS QUERIES KEYS ROUNDS\n";
    return 2;
  }
  headscope::bench::run(std::stoul(argv[1]), std::stoul(argv[2]), std::stoul(argv[3]), std::stoi(argv[4]));
}
