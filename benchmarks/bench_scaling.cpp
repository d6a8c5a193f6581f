// bench_scaling MODEL LAYERS: the time of `relate` (pk; OK; earlier to later; from the file to edges, graph and hubs)
// on the first LAYERS layers, the flops it keeps, and the peak memory of this process. The raw matrix product is timed
// before and after, since the speed of a shared machine varies. Prints one JSON object.

#include <fmt/format.h>
#include <sys/resource.h>

#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/raw_product.h"
#include "headscope/base/parallel.h"
#include "headscope/relate/relate.h"

namespace headscope::bench {
namespace {

constexpr RolePair kPair = {Role::kO, Role::kK};

double kept_flops(const HeadSizes& sizes, std::size_t layers) {
  const double layer_pairs = static_cast<double>(layers * (layers - 1)) / 2;
  const double head_pairs = static_cast<double>(sizes.heads_of(kPair.source) * sizes.heads_of(kPair.target));
  return layer_pairs * head_pairs * 2 * static_cast<double>(sizes.d_head * sizes.d_head * sizes.d_model);
}

// Bytes of the weights that are used, as stored.
double weight_bytes(const Model& model, std::size_t layers) {
  const HeadSizes& sizes = model.info().sizes;
  double bytes = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const Role role : {kPair.source, kPair.target}) {
      const DTypeInfo& type = info(model.stored_type(layer, role));
      bytes += static_cast<double>(sizes.heads_of(role) * sizes.d_head * sizes.d_model * type.block_bytes) /
               static_cast<double>(type.block_elements);
    }
  }
  return bytes;
}

rusage usage() {
  rusage found{};
  ::getrusage(RUSAGE_SELF, &found);
  return found;
}

// CPU time of all threads so far: unlike wall-clock time, hardly affected by other load on the machine.
double processor_seconds() {
  const rusage now = usage();
  return static_cast<double>(now.ru_utime.tv_sec + now.ru_stime.tv_sec) +
         static_cast<double>(now.ru_utime.tv_usec + now.ru_stime.tv_usec) / 1e6;
}

void run(const char* path, std::size_t layers) {
  RelateOptions options;
  options.pairs = {kPair};
  options.nulls = {NullModel::kIsotropic};
  options.affinity.earlier_only = true;
  options.affinity.layers.resize(layers);
  std::iota(options.affinity.layers.begin(), options.affinity.layers.end(), std::size_t{0});
  const Model model = Model::open(path);
  const HeadSizes& sizes = model.info().sizes;
  const double before = raw_product_rate(static_cast<int>(sizes.d_model));
  const double processor_before = processor_seconds();
  const double time = seconds([&] { (void)relate(Model::open(path), options, {.memory = std::size_t{1} << 30}); });
  const double processor = processor_seconds() - processor_before;
  const double peak = static_cast<double>(usage().ru_maxrss) * 1024;  // the raw product that ran before uses less
  const double after = raw_product_rate(static_cast<int>(sizes.d_model));
  std::cout << fmt::format(
      R"({{"threads": {}, "layers": {}, "flops": {}, "bytes": {}, "seconds": {}, "processor": {}, "peak": {}, "raw_rate": {}}})"
      "\n",
      thread_count(), layers, kept_flops(sizes, layers), weight_bytes(model, layers), time, processor, peak,
      (before + after) / 2);
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_scaling MODEL LAYERS\n";
    return 2;
  }
  headscope::bench::run(argv[1], std::stoul(argv[2]));
}
