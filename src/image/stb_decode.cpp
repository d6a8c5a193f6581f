#include "image/stb_decode.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <memory>

#include "headscope/base/error.h"
#include "headscope/image/image.h"

namespace headscope {
namespace {

// stb_image inflates whatever a stream holds, which may be 1000 times its size. The size the image needs is known
// beforehand, so larger allocations are refused here.
thread_local std::size_t largest_allocation = 0;
thread_local bool asked_for_more = false;

bool allowed(std::size_t size) {
  if (size > largest_allocation) asked_for_more = true;
  return size <= largest_allocation;
}

// Zero-filled, because version 2.27 reads tables that a damaged file does not define: the same bytes must give the same
// image, or the same error, every time.
void* limited_malloc(std::size_t size) {
  return allowed(size) ? std::calloc(size, 1) : nullptr;
}

void* limited_realloc(void* old, std::size_t size) {
  return allowed(size) ? std::realloc(old, size) : nullptr;
}

}  // namespace
}  // namespace headscope

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65535
#define STBI_MALLOC(size) ::headscope::limited_malloc(size)
#define STBI_REALLOC(old, size) ::headscope::limited_realloc(old, size)
#define STBI_FREE(old) std::free(old)
#include <stb_image.h>

static_assert(STBI_MAX_DIMENSIONS == headscope::kMaxImageSideLength);

namespace headscope {
namespace {

template <typename T, typename Load>
std::vector<T> load(Load load_with, std::span<const std::byte> file, std::string_view kind, std::string_view where,
                    Decoded& into) {
  int width = 0;
  int height = 0;
  int channels = 0;
  const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
  const std::unique_ptr<T, decltype(&std::free)> decoded(
      load_with(bytes, static_cast<int>(file.size()), &width, &height, &channels, 0), &std::free);
  if (!decoded && asked_for_more) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: the {} data is damaged: it is more than its pixels need", where, kind));
  }
  if (!decoded) {
    const char* reason = stbi_failure_reason();
    throw Error(ErrorKind::kFormat, fmt::format("{}: the {} data is damaged: {}", where, kind,
                                                printable(reason == nullptr ? "no reason given" : reason)));
  }
  into.width = static_cast<std::size_t>(width);
  into.height = static_cast<std::size_t>(height);
  into.channels = static_cast<std::size_t>(channels);
  return {decoded.get(), decoded.get() + into.width * into.height * into.channels};
}

}  // namespace

Decoded stb_decode(std::span<const std::byte> file, std::string_view kind, std::string_view where,
                   const StbLimits& limits) {
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: holds {} bytes of picture, expected less than 2 GiB", where, file.size()));
  }
  largest_allocation = limits.largest_allocation;
  asked_for_more = false;
  Decoded decoded;
  if (limits.sixteen_bits) {
    decoded.levels16 = load<std::uint16_t>(stbi_load_16_from_memory, file, kind, where, decoded);
  } else {
    decoded.levels = load<std::uint8_t>(stbi_load_from_memory, file, kind, where, decoded);
  }
  return decoded;
}

}  // namespace headscope
