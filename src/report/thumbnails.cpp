#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/run/schema/capture.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

constexpr std::size_t kColors = 3;

/// Levels, [height, width, color].
struct Picture {
  std::size_t input = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::int64_t> levels = {};

  [[nodiscard]] Shape reduced(std::size_t factor) const {
    return {std::max<std::size_t>(1, height / factor), std::max<std::size_t>(1, width / factor), kColors};
  }
};

Picture read_picture(const RunContents& run, const std::string& name, std::size_t input) {
  const NpyFile file = run.array(name, 3);
  const Shape& shape = file.array().shape;
  if (shape[2] != kColors || file.array().type != npy_type<std::uint8_t>() || element_count(shape) == 0U) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is {} of kind '{}', expected [height, width, 3] of 8-bit levels",
                                                run.where(name), to_string(shape), file.array().type.kind));
  }
  return {input, shape[0], shape[1], npy_values<std::int64_t>(file.array(), run.where(name))};
}

// Means over blocks of nearly equal size, so that the reduced image covers exactly what the image does.
std::vector<std::byte> levels(const Picture& picture, const Shape& shape) {
  std::vector<std::byte> bytes;
  bytes.reserve(shape[0] * shape[1] * kColors);
  for (std::size_t i = 0; i < shape[0]; ++i) {
    const std::size_t top = i * picture.height / shape[0];
    const std::size_t bottom = (i + 1) * picture.height / shape[0];
    for (std::size_t j = 0; j < shape[1]; ++j) {
      const std::size_t left = j * picture.width / shape[1];
      const std::size_t right = (j + 1) * picture.width / shape[1];
      const auto count = static_cast<std::int64_t>((bottom - top) * (right - left));
      for (std::size_t color = 0; color < kColors; ++color) {
        std::int64_t sum = 0;
        for (std::size_t y = top; y < bottom; ++y) {
          for (std::size_t x = left; x < right; ++x) sum += picture.levels[(y * picture.width + x) * kColors + color];
        }
        bytes.push_back(static_cast<std::byte>((sum + count / 2) / count));
      }
    }
  }
  return bytes;
}

}  // namespace

void add_thumbnails(PageData& page) {
  if (!page.options.thumbnails || !page.root.contains("inputs")) return;
  Json& inputs = page.root["inputs"];
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = inputs[i]["folder"].get<std::string>() + std::string(run_files::kThumbnail.path);
    if (page.run.has(name)) pictures.push_back(read_picture(page.run, name, i));
  }
  const auto total = [&](std::size_t factor) {
    std::size_t bytes = 0;
    for (const Picture& picture : pictures) bytes += element_count(picture.reduced(factor)).value_or(0);
    return bytes;
  };
  constexpr std::size_t kMaxFactor = 16;
  std::size_t factor = 1;
  while (factor < kMaxFactor && total(factor) > page.options.bytes / 4) ++factor;
  for (const Picture& picture : pictures) {
    const Shape shape = picture.reduced(factor);
    inputs[picture.input]["thumbnail"] = {
        {"block", page.blocks.add(levels(picture, shape))}, {"type", "u8"}, {"shape", shape}};
  }
  if (factor > 1 && !pictures.empty()) {
    page.notes.push_back(
        fmt::format("Images are reduced by a factor of {} to fit the page (--max-data makes room).", factor));
  }
}

}  // namespace headscope::report
