#include "headscope/image/pixels.h"

#include <fmt/format.h>

#include <string>

#include "headscope/base/error.h"
#include "headscope/base/shape.h"
#include "headscope/io/decode.h"
#include "headscope/io/npy.h"

namespace headscope {
namespace {

std::string_view name_of(char kind) {
  switch (kind) {
    case 'u':
      return "unsigned integers";
    case 'i':
      return "integers";
    default:
      return "booleans";
  }
}

void check_type(const NpyView& array, const std::string& where) {
  if (array.type.kind == 'f') return;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: holds {} of {} bits, expected floats that are already normalized; normalize them as the "
                          "model's preprocessor_config.json says, or pass the image with --image",
                          where, name_of(array.type.kind), 8 * array.type.size));
}

// Returns the shape as [images, channels, height, width].
Shape full_shape(const Shape& shape, std::size_t channels, const std::string& where) {
  Shape full = shape;
  if (full.size() == 2 && channels == 1) full.insert(full.begin(), 1);
  if (full.size() == 3) full.insert(full.begin(), 1);
  if (full.size() != 4 || full[1] != channels) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has shape {}, expected [{c}, height, width] or [images, {c}, height, width]", where,
                            to_string(shape), fmt::arg("c", channels)));
  }
  if (element_count(full) == 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has shape {}, which has no pixels", where, to_string(shape)));
  }
  return full;
}

}  // namespace

std::vector<Pixels> read_pixels(const std::filesystem::path& path, std::size_t channels) {
  const std::string where = path.string();
  const NpyFile file = NpyFile::open(path);
  check_type(file.array(), where);
  const Shape shape = full_shape(file.array().shape, channels, where);
  const std::vector<float> values = npy_values<float>(file.array(), where);
  const std::size_t each = values.size() / shape[0];
  if (const auto bad = find_non_finite(values)) {
    const std::size_t inside = *bad % each;
    throw Error(
        ErrorKind::kNumeric,
        fmt::format("{}: image {}, channel {}, row {}, column {} is {}, expected a finite number", where, *bad / each,
                    inside / (shape[2] * shape[3]), inside / shape[3] % shape[2], inside % shape[3], values[*bad]));
  }
  std::vector<Pixels> images;
  images.reserve(shape[0]);
  for (auto begin = values.begin(); begin != values.end(); begin += static_cast<std::ptrdiff_t>(each)) {
    images.push_back({shape[1], shape[2], shape[3], {begin, begin + static_cast<std::ptrdiff_t>(each)}});
  }
  return images;
}

}  // namespace headscope
