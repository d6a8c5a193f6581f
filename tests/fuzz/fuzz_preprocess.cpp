// The input is preprocessor_config.json up to the first NUL byte, then config.json. Reads them in both ways there are
// and does what they say to a small image. Only an Error may come out.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/image/preprocess.h"

namespace headscope {
namespace {

bool is_small(const ImageSize& size) {
  return size.height <= 100 && size.width <= 100;
}

void apply(const Preprocessing& preprocessing) {
  if (preprocessing.mean.size() != preprocessing.std.size()) std::abort();
  // Time is bounded by the sizes, and those by the reader; what they do shows with small ones.
  if (!is_small(preprocessing.size) || !is_small(preprocessing.crop.value_or(ImageSize{}))) return;
  Image image{11, 17, preprocessing.channels, {}};
  for (std::size_t i = 0; i < 11 * 17 * image.channels; ++i) image.levels.push_back(static_cast<std::uint8_t>(i * 37));
  const PreprocessedImage result = preprocess(image, preprocessing, "fuzz");
  const Pixels& pixels = result.pixels;
  if (pixels.values.size() != pixels.channels * pixels.height * pixels.width) std::abort();
  if (!std::isfinite(result.shown.top) || result.shown.top >= result.shown.bottom) std::abort();
}

template <typename Read>
void try_reading(Read read) {
  try {
    apply(read());
  } catch (const Error& error) {
    // Refusing is right, in a line of bearable length.
    if (std::string_view(error.what()).size() > 1000) std::abort();
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find('\0'), input.size());
  headscope::set_thread_count(1);
  try {
    const auto root = headscope::JsonDocument::parse(input.substr(0, split), "fuzz.json");
    headscope::try_reading([&] { return headscope::parse_timm_config(root.root(), "fuzz.json"); });
    const auto config = headscope::JsonDocument::parse(
        split < input.size() ? input.substr(split + 1) : std::string_view("{\"model_type\": \"vit\"}"), "fuzz.json");
    headscope::try_reading(
        [&] { return headscope::parse_preprocessor_config(root.root(), config.root(), "fuzz.json"); });
  } catch (const headscope::Error&) {
    // Not JSON.
  }
  return 0;
}
