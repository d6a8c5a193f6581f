// The input is config.json up to the first NUL byte, then a safetensors file. Opens the two as a model and reads the
// heads of what it claims to be. Only an Error may come out.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/model/model.h"
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
  } catch (const headscope::Error& error) {
    // Refusing is right, in a line of bearable length.
    if (std::string_view(error.what()).size() > 20000) std::abort();
  }
  return 0;
}
