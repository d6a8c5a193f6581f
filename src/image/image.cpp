#include "headscope/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "image/decode.h"

namespace headscope {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpeg = "\xFF\xD8\xFF";

struct OtherKind {
  std::string_view begin;
  std::string_view name;
};

constexpr std::array kOthers = {
    OtherKind{"GIF8", "GIF"},
    OtherKind{"BM", "BMP"},
    OtherKind{"II*\0"sv, "TIFF"},
    OtherKind{"MM\0*"sv, "TIFF"},
    OtherKind{"\0\0\x01\0"sv, "ICO"},
    OtherKind{"8BPS", "Photoshop"},
    OtherKind{"\0\0\0\x0CJXL "sv, "JPEG XL"},
    OtherKind{"\xFF\x0A", "JPEG XL"},
    OtherKind{"\0\0\0\x0CjP  "sv, "JPEG 2000"},
    OtherKind{"%PDF", "PDF"},
};

std::string_view other_kind(std::string_view text) {
  if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return "WebP";
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp") return "HEIC, AVIF or video";
  const auto found = std::ranges::find_if(kOthers, [&](const OtherKind& k) { return text.starts_with(k.begin); });
  return found == kOthers.end() ? std::string_view() : found->name;
}

[[noreturn]] void refuse(std::string_view text, std::string_view where) {
  if (text.empty()) throw Error(ErrorKind::kFormat, fmt::format("{}: is empty, expected a PNG or JPEG image", where));
  if (const std::string_view kind = other_kind(text); !kind.empty()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: seems to be {}, expected PNG or JPEG; convert it first", where, kind));
  }
  throw Error(ErrorKind::kFormat, fmt::format("{}: is not an image: it begins with '{}', expected PNG or JPEG", where,
                                              printable(text.substr(0, 8))));
}

std::uint8_t gray(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

}  // namespace

Image with_channels(Image image, std::size_t channels) {
  if (image.channels == channels) return image;
  const std::size_t pixels = image.height * image.width;
  std::vector<std::uint8_t> levels(pixels * channels);
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 1) {
      levels[i] = gray(image.levels.data() + 3 * i);
    } else {
      std::fill_n(levels.data() + 3 * i, 3, image.levels[i]);
    }
  }
  return {image.height, image.width, channels, std::move(levels)};
}

void check_image_size(std::size_t height, std::size_t width, std::string_view where, std::size_t max_pixels) {
  if (height == 0 || width == 0) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {} pixels high and {} wide, expected at least 1 x 1", where, height, width));
  }
  if (height > kMaxImageSideLength || width > kMaxImageSideLength || height > max_pixels / width) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: is {} pixels high and {} wide, expected at most {} pixels and no side over {}; make it "
                    "smaller first",
                    where, height, width, max_pixels, kMaxImageSideLength));
  }
}

Image decode_image(std::span<const std::byte> file, std::string_view where, const ImageOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} channels requested, expected 1 or 3", where, options.channels));
  }
  const std::string_view text = as_text(file);
  if (text.starts_with(kPng)) return with_channels(decode_png(file, where, options.max_pixels), options.channels);
  if (text.starts_with(kJpeg)) return with_channels(decode_jpeg(file, where, options.max_pixels), options.channels);
  refuse(text, where);
}

Image open_image(const std::filesystem::path& path, const ImageOptions& options) {
  const MappedFile file = MappedFile::open(path);
  return decode_image(file.bytes(), path.string(), options);
}

}  // namespace headscope
