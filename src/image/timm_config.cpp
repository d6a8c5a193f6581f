#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "headscope/image/preprocess.h"
#include "image/preprocess_config_reader.h"

namespace headscope {
namespace {

constexpr double kUsualCropPart = 0.875;
constexpr std::size_t kUsualEdge = 224;

std::vector<float> imagenet_mean() {
  return {0.485F, 0.456F, 0.406F};
}

std::vector<float> imagenet_std() {
  return {0.229F, 0.224F, 0.225F};
}

struct Interpolation {
  std::string_view name;
  Resample filter;
};

constexpr std::array kInterpolations = {
    Interpolation{"bicubic", Resample::kBicubic}, Interpolation{"bilinear", Resample::kBilinear},
    Interpolation{"nearest", Resample::kNearest}, Interpolation{"lanczos", Resample::kLanczos},
    Interpolation{"box", Resample::kBox},
};

Resample interpolation_of(const PreprocessConfigReader& reader) {
  const std::string name = reader.text("interpolation").value_or("bicubic");
  for (const Interpolation& known : kInterpolations) {
    if (known.name == name) return known.filter;
  }
  reader.fail(fmt::format("'interpolation' is '{}', expected bicubic, bilinear, nearest, lanczos or box; pass the "
                          "image's values with --pixels",
                          printable(name, 60)),
              ErrorKind::kUnsupported);
}

ImageSize input_size_of(const PreprocessConfigReader& reader) {
  const JsonValue size = reader.find("input_size");
  if (size.is_null()) return {kUsualEdge, kUsualEdge};
  if (size.size() != 3 || !size.is_array()) reader.fail("'input_size' is not a list of channels, height and width");
  auto item = size.items().begin();
  const std::size_t height = reader.edge(*++item, "input_size");
  return {height, reader.edge(*++item, "input_size")};
}

ImageSize enlarged(const ImageSize& size, const PreprocessConfigReader& reader) {
  const double part = reader.positive("crop_pct").value_or(kUsualCropPart);
  const auto enlarge = [&](std::size_t edge) {
    const double length = std::floor(static_cast<double>(edge) / part);
    if (!(length >= 1 && length <= static_cast<double>(PreprocessConfigReader::kMaxEdgeLength))) {
      reader.fail(fmt::format("'crop_pct' is {}, which resizes an edge of {} pixels to {}, expected 1 to {}", part,
                              edge, length, PreprocessConfigReader::kMaxEdgeLength));
    }
    return static_cast<std::size_t>(length);
  };
  return {enlarge(size.height), enlarge(size.width)};
}

}  // namespace

Preprocessing parse_timm_config(JsonValue config, std::string_view where) {
  const PreprocessConfigReader reader(config.find("pretrained_cfg"), fmt::format("{}: pretrained_cfg", where));
  Preprocessing result;
  result.channels = channels_of(config, where);
  result.crop = input_size_of(reader);
  result.crop_to_even = true;
  result.size = enlarged(*result.crop, reader);
  result.resample = interpolation_of(reader);
  const std::string mode = reader.text("crop_mode").value_or("center");
  if (mode == "squash") {
    result.resize = ResizeTo::kSize;
  } else if (mode != "center") {
    reader.fail(fmt::format("'crop_mode' is '{}', expected center or squash; pass the image's values with --pixels",
                            printable(mode, 60)),
                ErrorKind::kUnsupported);
  } else if (result.size.height == result.size.width) {
    result.resize = ResizeTo::kShortestEdge;
  } else {
    result.resize = ResizeTo::kCover;
    result.resample = Resample::kBilinear;  // timm does not pass the configured filter on
  }
  result.scale = 1.0 / 255;
  const auto mean = reader.per_channel("mean", result.channels);
  const auto std = reader.divisors("std", result.channels);
  result.mean = mean ? *mean : default_per_channel(imagenet_mean(), result.channels, "mean", reader);
  result.std = std ? *std : default_per_channel(imagenet_std(), result.channels, "std", reader);
  return result;
}

}  // namespace headscope
