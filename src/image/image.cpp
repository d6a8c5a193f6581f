#include "headscope/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "image/check_jpeg.h"
#include "image/check_png.h"
#include "image/image_size.h"
#include "image/stb_decode.h"

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

// Converts to 1 or 3 channels; drops alpha, which is the second or the fourth channel.
std::vector<std::uint8_t> convert(std::vector<std::uint8_t> from, std::size_t pixels, std::size_t have,
                                  std::size_t want) {
  if (have == want) return from;
  std::vector<std::uint8_t> levels(pixels * want);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* pixel = from.data() + i * have;
    std::uint8_t* out = levels.data() + i * want;
    if (want == 1) {
      *out = have < 3 ? *pixel : gray(pixel);
    } else {
      for (std::size_t c = 0; c < 3; ++c) out[c] = pixel[have < 3 ? 0 : c];
    }
  }
  return levels;
}

Image to_image(Decoded decoded, std::size_t channels) {
  const std::size_t pixels = decoded.height * decoded.width;
  if (!decoded.levels16.empty()) {
    decoded.levels.resize(decoded.levels16.size());
    std::ranges::transform(decoded.levels16, decoded.levels.begin(),
                           [](std::uint16_t v) { return static_cast<std::uint8_t>(std::min<unsigned>(v, 255)); });
  }
  return {decoded.height, decoded.width, channels,
          convert(std::move(decoded.levels), pixels, decoded.channels, channels)};
}

// The check and the decoder must have read the same size.
template <typename Checked>
void check_agreement(const Checked& checked, const Decoded& decoded, std::string_view where) {
  if (checked.height == decoded.height && checked.width == decoded.width) return;
  throw Error(ErrorKind::kFormat, fmt::format("{}: says {} x {} pixels and decodes to {} x {}", where, checked.height,
                                              checked.width, decoded.height, decoded.width));
}

}  // namespace

void check_image_size(std::size_t height, std::size_t width, std::string_view where, std::size_t max_pixels) {
  if (height == 0 || width == 0) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is {} pixels high and {} wide", where, height, width));
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
                fmt::format("{}: an image of {} channels was asked for, expected 1 or 3", where, options.channels));
  }
  const std::string_view text = as_text(file);
  if (text.starts_with(kPng)) {
    const CheckedPng png = check_png(file, where, options.max_pixels);
    Decoded decoded = stb_decode(png.file, "PNG", where, {png.largest_allocation, png.gray16});
    check_agreement(png, decoded, where);
    return to_image(std::move(decoded), options.channels);
  }
  if (text.starts_with(kJpeg)) {
    const CheckedJpeg jpeg = check_jpeg(file, where, options.max_pixels);
    Decoded decoded = stb_decode(file, "JPEG", where, {jpeg.largest_allocation, false});
    check_agreement(jpeg, decoded, where);
    return to_image(std::move(decoded), options.channels);
  }
  refuse(text, where);
}

Image open_image(const std::filesystem::path& path, const ImageOptions& options) {
  const MappedFile file = MappedFile::open(path);
  return decode_image(file.bytes(), path.string(), options);
}

}  // namespace headscope
