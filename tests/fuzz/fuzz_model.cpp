// The input is config.json up to the first NUL byte, then a safetensors file. Opens the two as a model, reads the
// heads of what it claims to be and, where it is small, runs it. Only an Error may come out.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/forward.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"
#include "headscope/model/readiness.h"

namespace headscope {
namespace {

// One folder a process, in memory where the system has such a place.
const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const std::filesystem::path base = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    std::filesystem::path made = base / ("headscope-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    return made;
  }();
  return path;
}

void write(const char* name, std::string_view text) {
  std::ofstream(folder() / name, std::ios::binary) << text;
}

void read_heads(const Model& model) {
  const HeadSizes& sizes = model.info().sizes;
  for (std::size_t layer = 0; layer < std::min<std::size_t>(sizes.layers, 2); ++layer) {
    for (const Role role : kRoles) {
      try {
        const HeadWeights weights = model.load_heads(layer, role);
        if (weights.heads() != sizes.heads_of(role)) std::abort();
      } catch (const Error&) {
        // A role that cannot be read does not hide the others.
      }
    }
  }
}

// Two tokens, or the smallest image the model takes.
ModelInput tiny_input(const Network& network) {
  if (network.input.embedding != nullptr) return {.ids = {0, 1}};
  const Shape& kernel = network.input.patches.weight->shape;
  const std::size_t height = network.input.image_height > 0 ? network.input.image_height : kernel[2];
  const std::size_t width = network.input.image_width > 0 ? network.input.image_width : kernel[3];
  constexpr std::size_t kMax = 64 * 64;
  if (kernel[1] > kMax || height > kMax || width > kMax || kernel[1] * height * width > kMax) return {};
  return {.pixels = {kernel[1], height, width, std::vector<float>(kernel[1] * height * width, 0.5F)}};
}

void run_model(const Model& model) {
  const Network network = resolve_network(model);
  std::size_t bytes = 0;
  for (const StoredTensor* tensor : model.checkpoint().tensors()) bytes += tensor->bytes.size();
  if (bytes > std::size_t{1} << 20 || network.layers.size() > 8) return;
  const std::size_t heads = model.info().sizes.heads;
  std::size_t rows = 0;
  ForwardOptions options;
  options.on_pattern = [&](const MapRows& map) { rows += map.values.rows(); };
  options.on_output = [](const OutputRows& out) {
    for (std::size_t i = 0; i < out.values.rows(); ++i) {
      if (!std::isfinite(out.values(i, 0))) std::abort();
    }
  };
  const ModelInput input = tiny_input(network);
  run_forward(model, std::span(&input, 1), options, {.memory = std::size_t{64} << 20});
  if (rows != token_count(model, input) * heads * network.layers.size()) std::abort();
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find('\0'), input.size());
  headscope::set_thread_count(1);
  headscope::write("config.json", input.substr(0, split));
  headscope::write("model.safetensors", input.substr(std::min(split + 1, input.size())));
  try {
    const headscope::Model model = headscope::Model::open(headscope::folder());
    if (headscope::readiness(model).empty()) std::abort();
    headscope::read_heads(model);
    headscope::run_model(model);
  } catch (const headscope::Error& error) {
    // Refusing is right, in a line of bearable length.
    if (std::string_view(error.what()).size() > 20000) std::abort();
  }
  return 0;
}
