#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "headscope/image/image.h"
#include "support/expect_error.h"
#include "support/golden_images.h"
#include "support/png_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using namespace std::string_literals;
using test::png_chunk;
using test::png_file;
using test::png_header;

Image decode(const std::string& file, const ImageOptions& options = {}) {
  return decode_image(std::as_bytes(std::span(file)), "x.png", options);
}

std::string read(const std::string& name) {
  std::ifstream file(test::golden_images_folder() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const std::string kSignature(test::kPngSignature);
const std::string kGray = png_header(2, 1, 8, 0);
const std::string kRow = "\0ab"s;
const std::string kData = png_chunk("IDAT", test::zlib_stored(kRow));
const std::string kEnd = png_chunk("IEND", "");

// A JPEG segment.
std::string segment(char marker, const std::string& body) {
  const std::size_t length = body.size() + 2;
  return "\xFF"s + marker + static_cast<char>(length >> 8) + static_cast<char>(length & 0xFF) + body;
}

std::string frame(char marker, int bits, const std::string& height, const std::string& width, int channels) {
  std::string body(1, static_cast<char>(bits));
  body += height + width + static_cast<char>(channels);
  for (int c = 1; c <= channels; ++c) body += static_cast<char>(c) + "\x11\0"s;
  return "\xFF\xD8"s + segment(marker, body);
}

const std::string kScan = segment('\xDA', "\x01\x01\0\0\x3F\0"s);
// One code each, a single 0 bit, for the value 0.
const std::string kCodes = "\x01"s + std::string(16, '\0');
const std::string kDcTable = segment('\xC4', "\0"s + kCodes);
const std::string kAcTable = segment('\xC4', "\x10" + kCodes);
const std::string kTables = kDcTable + kAcTable + segment('\xDB', "\0"s + std::string(64, '\x01'));
const std::string kEndOfJpeg = "\xFF\xD9";

struct Broken {
  std::string what;
  std::string file;
  ErrorKind kind;
  std::string message;
};

void expect_refused(const std::vector<Broken>& table) {
  for (const Broken& broken : table) {
    SCOPED_TRACE(broken.what);
    EXPECT_ERROR(decode(broken.file), broken.kind, broken.message);
    EXPECT_ERROR(decode(broken.file), broken.kind, "x.png: ");
  }
}

TEST(BrokenImage, IsNoPngOrJpeg) {
  expect_refused({
      {"empty", "", ErrorKind::kFormat, "is empty, expected a PNG or JPEG image"},
      {"text", "hello\nworld", ErrorKind::kFormat, "is not an image: it begins with 'hello\\x0awo'"},
      {"half a signature", kSignature.substr(0, 7), ErrorKind::kFormat, "is not an image: it begins with '\\x89PNG"},
      {"start of a JPEG", "\xFF\xD8", ErrorKind::kFormat, "is not an image: it begins with '\\xff\\xd8'"},
      {"GIF", "GIF89a...", ErrorKind::kUnsupported, "seems to be GIF, expected PNG or JPEG"},
      {"WebP", "RIFF\x10\0\0\0WEBPVP8 "s, ErrorKind::kUnsupported, "seems to be WebP"},
      {"HEIC",
       "\0\0\0\x18"
       "ftypheic\0\0"s,
       ErrorKind::kUnsupported, "seems to be HEIC"},
      {"TIFF", "MM\0*\0\0\0\x08"s, ErrorKind::kUnsupported, "seems to be TIFF"},
  });
}

TEST(BrokenImage, IsADamagedPng) {
  std::string flipped = kSignature + kGray + kData + kEnd;
  flipped[kSignature.size() + kGray.size() + 16] ^= 1;
  std::string bad_header = kGray;
  bad_header.back() ^= 1;
  const auto file = [](const std::string& chunks) { return kSignature + chunks; };
  expect_refused({
      {"signature alone", kSignature, ErrorKind::kFormat, "ends at byte 8 without the end of a PNG image"},
      {"no header", file(kData + kEnd), ErrorKind::kFormat, "begins with a chunk 'IDAT' of 14 bytes, expected 'IHDR'"},
      {"short header", file(png_chunk("IHDR", "1234")), ErrorKind::kFormat, "a chunk 'IHDR' of 4 bytes, expected"},
      {"header that does not fit its checksum", file(bad_header + kData + kEnd), ErrorKind::kFormat,
       "chunk 'IHDR' at byte 8 does not fit its checksum"},
      {"a bit flipped in the data", flipped, ErrorKind::kFormat, "chunk 'IDAT' at byte 33 does not fit its checksum"},
      {"no end", file(kGray + kData), ErrorKind::kFormat, "without the end of a PNG image (is it truncated?)"},
      {"chunk beyond the file", file(kGray + test::png_number(4000) + "IDAT1234567890"), ErrorKind::kFormat,
       "the PNG chunk at byte 33 claims 4000 bytes, but 6 are left"},
      {"chunk beyond any file", file(kGray + test::png_number(~0u) + "IDAT1234567890"), ErrorKind::kFormat,
       "claims 4294967295 bytes"},
      {"no width", png_file(png_header(0, 1, 8, 0), "\0"s), ErrorKind::kFormat, "is 1 pixels high and 0 wide"},
      {"three bits", png_file(png_header(2, 1, 3, 0), kRow), ErrorKind::kFormat, "color type 0 with 3 bits"},
      {"no bits", png_file(png_header(2, 1, 0, 0), kRow), ErrorKind::kFormat, "color type 0 with 0 bits"},
      {"color of four bits", png_file(png_header(2, 1, 4, 2), kRow), ErrorKind::kFormat, "color type 2 with 4 bits"},
      {"color type that is none", png_file(png_header(2, 1, 8, 5), kRow), ErrorKind::kFormat, "color type 5"},
      {"color type 200", png_file(png_header(2, 1, 8, 200), kRow), ErrorKind::kFormat, "color type 200"},
      {"unknown interlacing", png_file(png_header(2, 1, 8, 0, "\0\0\x02"s), kRow), ErrorKind::kFormat, "interlace 2"},
      {"unknown compression", png_file(png_header(2, 1, 8, 0, "\x01\0\0"s), kRow), ErrorKind::kFormat,
       "PNG compression 1"},
      {"palette type without one", png_file(png_header(2, 1, 8, 3), kRow), ErrorKind::kFormat, "but no palette"},
      {"palette of four bytes", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", "1234")), ErrorKind::kFormat,
       "palette has 4 bytes"},
      {"palette of 257 colors", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", std::string(771, 'x'))),
       ErrorKind::kFormat, "palette has 771 bytes"},
      {"two palettes", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", "123") + png_chunk("PLTE", "123")),
       ErrorKind::kFormat, "palette stands twice"},
      {"no data", file(kGray + kEnd), ErrorKind::kFormat, "holds no pixel data"},
      {"empty data", file(kGray + png_chunk("IDAT", "") + kEnd), ErrorKind::kFormat, "holds no pixel data"},
      {"interrupted data", file(kGray + kData + png_chunk("tEXt", "a") + kData + kEnd), ErrorKind::kFormat,
       "interrupted by another chunk"},
      {"two headers", file(kGray + kGray + kData + kEnd), ErrorKind::kUnsupported, "holds a PNG chunk 'IHDR'"},
      {"Apple's variant", file(png_chunk("CgBI", "1234") + kGray + kData + kEnd), ErrorKind::kFormat,
       "begins with a chunk 'CgBI'"},
      {"unknown critical chunk", file(kGray + png_chunk("A\nBC", "") + kData + kEnd), ErrorKind::kUnsupported,
       "holds a PNG chunk 'A\\x0aBC'"},
      {"too few rows", png_file(png_header(2, 9, 8, 0), kRow), ErrorKind::kFormat, "the PNG data is damaged"},
      {"not zlib", file(kGray + png_chunk("IDAT", "not zlib at all") + kEnd), ErrorKind::kFormat,
       "the PNG data is damaged"},
      {"unknown filter",
       png_file(kGray,
                "\x09"
                "ab"s),
       ErrorKind::kFormat, "the PNG data is damaged"},
  });
}

TEST(BrokenImage, IsADamagedJpeg) {
  const std::string good = frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 1);
  expect_refused({
      {"start alone", "\xFF\xD8\xFF", ErrorKind::kFormat, "ends at byte 3 without the end of a JPEG image"},
      {"no frame", "\xFF\xD8\xFF\xD9", ErrorKind::kFormat, "holds no JPEG pixel data"},
      {"no scan", good + kEndOfJpeg, ErrorKind::kFormat, "holds no JPEG pixel data"},
      {"scan before the frame", "\xFF\xD8"s + kScan + kEndOfJpeg, ErrorKind::kFormat, "before its size is told"},
      {"segment beyond the file", "\xFF\xD8\xFF\xE0\x10\0abc"s, ErrorKind::kFormat,
       "the JPEG segment at byte 2 claims 4096 bytes, but 5 are left"},
      {"segment of one byte", "\xFF\xD8\xFF\xE0\0\x01"s, ErrorKind::kFormat, "claims 1 bytes"},
      {"two frames", good + frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 1).substr(2) + kScan + kEndOfJpeg,
       ErrorKind::kFormat, "tells its JPEG size twice"},
      {"lossless", frame('\xC3', 8, "\0\x08"s, "\0\x08"s, 1) + kScan, ErrorKind::kUnsupported, "JPEG of kind 3"},
      {"arithmetic coding", frame('\xC9', 8, "\0\x08"s, "\0\x08"s, 1) + kScan, ErrorKind::kUnsupported,
       "JPEG of kind 9"},
      {"12 bits", frame('\xC1', 12, "\0\x08"s, "\0\x08"s, 1) + kScan, ErrorKind::kUnsupported, "JPEG of 12 bits"},
      {"CMYK", frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 4) + kScan, ErrorKind::kUnsupported,
       "JPEG with 4 channels, expected 3 or 1; save what probably is CMYK as RGB"},
      {"no height", frame('\xC0', 8, "\0\0"s, "\0\x08"s, 1) + kScan, ErrorKind::kFormat, "is 0 pixels high"},
      {"frame cut short", "\xFF\xD8"s + segment('\xC0', "\x08\0\x08\0\x08\x03\x01\x11\0"s), ErrorKind::kFormat,
       "frame header has 9 bytes"},
      {"empty frame", "\xFF\xD8"s + segment('\xC0', ""), ErrorKind::kFormat, "frame header has 0 bytes"},
      {"no Huffman tables", good + kScan + "\x12\x34" + kEndOfJpeg, ErrorKind::kFormat,
       "uses a Huffman table that is not there"},
      {"no quantization tables", good + kDcTable + kAcTable + kScan + "\x12\x34" + kEndOfJpeg, ErrorKind::kFormat,
       "uses a quantization table that is not there"},
      {"Huffman table number 4", good + segment('\xC4', "\x04" + std::string(16, '\0')), ErrorKind::kFormat,
       "a JPEG Huffman table is malformed"},
      {"Huffman table cut short", good + segment('\xC4', "\0\x01"s + std::string(15, '\0')), ErrorKind::kFormat,
       "a JPEG Huffman table is malformed"},
      {"quantization table of 63 numbers", good + segment('\xDB', std::string(64, '\0')), ErrorKind::kFormat,
       "a JPEG quantization table is malformed"},
      {"empty scan header", good + segment('\xDA', ""), ErrorKind::kFormat, "a JPEG scan header has 0 bytes"},
      {"scan of nothing", good + segment('\xDA', "\0\0\x3F\0"s), ErrorKind::kFormat, "a JPEG scan header has 4 bytes"},
      {"codes that do not exist", good + kTables + kScan + std::string(20, '\x7F') + kEndOfJpeg, ErrorKind::kFormat,
       "the JPEG data is damaged: bad huffman code"},
      {"too many scans",
       [&] {
         std::string file = good + kTables;
         for (int i = 0; i < 300; ++i) file += kScan;
         return file + kEndOfJpeg;
       }(),
       ErrorKind::kUnsupported, "holds more than 200 JPEG scans"},
  });
}

TEST(BrokenImage, IsWhatTheTableAboveStartsFrom) {
  const Image image = decode(frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 1) + kTables + kScan + "\0\0" + kEndOfJpeg);
  EXPECT_EQ(image.levels, std::vector<std::uint8_t>(8 * 8 * 3, 128));
}

TEST(BrokenImage, IsCutOff) {
  for (const std::string name : {"rgb.png", "interlaced.png", "palette.png", "baseline420.jpg", "progressive.jpg"}) {
    const std::string whole = read(name);
    ASSERT_GT(whole.size(), 100u);
    for (const std::size_t kept : {whole.size() - 1, whole.size() / 2, std::size_t{30}}) {
      SCOPED_TRACE(name + " " + std::to_string(kept));
      EXPECT_ERROR(decode(whole.substr(0, kept)), ErrorKind::kFormat, "truncated?");
    }
  }
}

TEST(BrokenImage, IsTooLarge) {
  const std::string wide = png_file(png_header(65536, 1, 8, 0), kRow);
  EXPECT_ERROR(decode(wide), ErrorKind::kUnsupported, "is 1 pixels high and 65536 wide, expected at most");
  const std::string many = png_file(png_header(65535, 65535, 8, 0), kRow);
  EXPECT_ERROR(decode(many), ErrorKind::kUnsupported, "is 65535 pixels high and 65535 wide, expected at most 67108864");
  const std::string huge = png_file(png_header(~0u, ~0u, 16, 6), kRow);
  EXPECT_ERROR(decode(huge), ErrorKind::kUnsupported, "4294967295 wide");
  EXPECT_ERROR(decode(png_file(kGray, kRow), {.max_pixels = 1}), ErrorKind::kUnsupported, "at most 1 pixels");
  EXPECT_ERROR(decode(frame('\xC0', 8, "\xFF\xFF", "\xFF\xFF", 3) + kScan + kEndOfJpeg), ErrorKind::kUnsupported,
               "65535 wide");
}

// `count` zlib codes of 13 bits, each of which repeats the last byte 258 times.
std::string bomb(int count) {
  std::string bits;
  bits += "110";       // the last block, with the fixed codes
  bits += "00110000";  // a zero
  for (int i = 0; i < count; ++i) bits += "1100010100000";
  bits += "0000000";  // the end
  bits.resize((bits.size() + 7) / 8 * 8, '0');
  std::string bytes = "\x78\xDA";
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    bytes.push_back(
        static_cast<char>(std::stoi(std::string(bits.rbegin() + static_cast<std::ptrdiff_t>(bits.size() - i - 8),
                                                bits.rbegin() + static_cast<std::ptrdiff_t>(bits.size() - i)),
                                    nullptr, 2)));
  }
  return bytes + std::string(4, '\0');
}

TEST(BrokenImage, HoldsFarMoreDataThanItHasPixels) {
  const auto file = [](int count) { return kSignature + kGray + png_chunk("IDAT", bomb(count)) + kEnd; };
  EXPECT_EQ(decode(file(2)).levels, std::vector<std::uint8_t>(6, 0));  // a little more is common
  EXPECT_ERROR(decode(file(20000)), ErrorKind::kFormat, "the PNG data is damaged: it is more than its pixels need");
}

TEST(BrokenImage, WasAskedForInTwoChannels) {
  EXPECT_ERROR(decode(png_file(kGray, kRow), {.channels = 2}), ErrorKind::kInvalidArgument, "of 2 channels");
}

TEST(BrokenImage, IsNotThere) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(open_image(folder.path() / "none.png"), ErrorKind::kIo, "none.png: cannot open");
  EXPECT_ERROR(open_image(folder.path()), ErrorKind::kIo, "is a folder");
  EXPECT_ERROR(open_image(folder.write("empty.jpg", "")), ErrorKind::kFormat, "empty.jpg: is empty");
}

}  // namespace
}  // namespace headscope
