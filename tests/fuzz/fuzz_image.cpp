// Reads arbitrary bytes as a picture. In what looks like PNG the checksums are made to fit first, since no mutation
// would get past them. Only an Error may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/image/image.h"
#include "support/png_bytes.h"

namespace headscope {
namespace {

void fit_checksums(std::string& file) {
  if (!file.starts_with(test::kPngSignature)) return;
  std::size_t at = test::kPngSignature.size();
  while (file.size() - at >= 12) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(file[at + i]);
    if (length > file.size() - at - 12) return;
    const std::string sum = test::png_number(test::png_checksum(std::string_view(file).substr(at + 4, 4 + length)));
    std::ranges::copy(sum, file.begin() + static_cast<std::ptrdiff_t>(at + 8 + length));
    at += 12 + length;
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  headscope::fit_checksums(file);
  try {
    const headscope::ImageOptions options{.channels = size % 2 == 0 ? 3u : 1u, .max_pixels = 1 << 18};
    const headscope::Image image = headscope::decode_image(std::as_bytes(std::span(file)), "fuzz", options);
    if (image.channels != options.channels || image.height * image.width > options.max_pixels ||
        image.levels.size() != image.height * image.width * image.channels) {
      std::abort();
    }
  } catch (const headscope::Error& error) {
    // Refusing is right, in a line of bearable length.
    if (std::string_view(error.what()).size() > 1000) std::abort();
  }
  return 0;
}
