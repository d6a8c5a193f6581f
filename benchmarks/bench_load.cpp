// bench_load MODEL: the time to load all attention weights of a model, divided by the time of a plain loop that copies
// and converts the same bytes out of the memory map. Prints one JSON object per line.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <set>
#include <vector>

#include "benchmarks/measure.h"
#include "headscope/base/parallel.h"
#include "headscope/model/model.h"

namespace headscope::bench {
namespace {

// The tensors that contain Q, K, V and O, without duplicates.
std::vector<const StoredTensor*> attention_tensors(const Model& model) {
  std::vector<const StoredTensor*> tensors;
  for (const std::string& name : model.info().used) {
    const StoredTensor* tensor = model.checkpoint().find(name);
    if (tensor->shape.size() == 2 && name != model.info().embedding && name != model.info().unembedding) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

// Copies, and converts two-byte types: the minimum that any reader must do.
void copy_and_convert(const StoredTensor& tensor, std::vector<float>& out) {
  if (tensor.dtype == DType::kF32) {
    std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
    return;
  }
  const std::byte* bytes = tensor.bytes.data();
  for (std::size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
    std::uint16_t half;
    std::memcpy(&half, bytes + 2 * i, 2);
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    std::memcpy(&out[i], &bits, 4);
  }
}

void run(const char* path) {
  const Model model = Model::open(path);
  const auto tensors = attention_tensors(model);
  std::size_t bytes = 0;
  std::size_t largest = 0;
  for (const StoredTensor* tensor : tensors) {
    bytes += tensor->bytes.size();
    largest = std::max(largest, tensor->shape[0] * tensor->shape[1]);
  }
  std::vector<float> buffer(largest);
  std::array<HeadWeights, 4> heads;  // like `buffer`, keeps its memory from one round to the next
  const auto floor = [&] {
    for (const StoredTensor* tensor : tensors) copy_and_convert(*tensor, buffer);
  };
  for (const WeightProcessing processing : {WeightProcessing::kRaw, WeightProcessing::kFolded}) {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
      set_thread_count(threads);
      const Comparison result = compare(
          [&] {
            for (std::size_t layer = 0; layer < model.info().sizes.layers; ++layer) {
              heads = model.load_layer(layer, processing, std::move(heads));
            }
          },
          floor, 15);
      std::cout << fmt::format(
          R"({{"family": "{}", "weights": "{}", "threads": {}, "bytes": {}, "ours": {}, "floor": {}, "ratio": {}}})"
          "\n",
          model.info().family, to_string(processing), threads, bytes, result.ours, result.floor, result.ratio);
    }
  }
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bench_load MODEL\n";
    return 2;
  }
  headscope::bench::run(argv[1]);
}
