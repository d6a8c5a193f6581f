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
const std::string kQuantization = segment('\xDB', "\0"s + std::string(64, '\x01'));
const std::string kTables = kDcTable + kAcTable + kQuantization;
const std::string kZeros = "\x3F";  // two codes, then padding
const std::string kEndOfJpeg = "\xFF\xD9";

// A progressive JPEG that sends each of 63 coefficients in `bits` + 1 scans.
std::string scans(int bits) {
  std::string file = frame('\xC2', 8, "\0\x08"s, "\0\x08"s, 1) + kTables;
  file += segment('\xDA', "\x01\x01\0\0\0\0"s) + kZeros;
  for (char k = 1; k < 64; ++k) {
    const auto add_scan = [&](int approximation) {
      std::string scan = "\x01\x01\0"s;
      scan += {k, k, static_cast<char>(approximation)};
      file += segment('\xDA', scan) + kZeros;
    };
    add_scan(bits);
    for (int bit = bits; bit > 0; --bit) add_scan(bit << 4 | (bit - 1));
  }
  return file + kEndOfJpeg;
}

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
  flipped[kSignature.size() + kGray.size() + 17] ^= 1;
  std::string bad_checksum = kData;
  bad_checksum.back() ^= 1;
  std::string bad_header = kGray;
  bad_header.back() ^= 1;
  const std::string stream = test::zlib_stored(kRow);
  const std::string text = png_chunk("tEXt", "a\0b"s);
  const std::string halves[] = {png_chunk("IDAT", stream.substr(0, 8)), png_chunk("IDAT", stream.substr(8))};
  const auto file = [](const std::string& chunks) { return kSignature + chunks; };
  // What follows "damaged" are the words of libpng, which depend on its version.
  const std::vector<std::pair<std::string, std::string>> damaged = {
      {"signature alone", kSignature},
      {"no header", file(kData + kEnd)},
      {"short header", file(png_chunk("IHDR", "1234"))},
      {"header that does not fit its checksum", file(bad_header + kData + kEnd)},
      {"a bit flipped in the data", flipped},
      {"data that does not fit its checksum", file(kGray + bad_checksum + kEnd)},
      {"stream that does not fit its checksum",
       file(kGray + png_chunk("IDAT", stream.substr(0, stream.size() - 1) + "x") + kEnd)},
      {"no end", file(kGray + kData)},
      {"chunk beyond the file", file(kGray + test::png_number(4000) + "IDAT1234567890")},
      {"chunk beyond any file", file(kGray + test::png_number(~0u) + "IDAT1234567890")},
      {"no width", png_file(png_header(0, 1, 8, 0), "\0"s)},
      {"more width than PNG allows", png_file(png_header(~0u, ~0u, 16, 6), kRow)},
      {"three bits", png_file(png_header(2, 1, 3, 0), kRow)},
      {"no bits", png_file(png_header(2, 1, 0, 0), kRow)},
      {"color of four bits", png_file(png_header(2, 1, 4, 2), kRow)},
      {"color type that is none", png_file(png_header(2, 1, 8, 5), kRow)},
      {"color type 200", png_file(png_header(2, 1, 8, 200), kRow)},
      {"unknown interlacing", png_file(png_header(2, 1, 8, 0, "\0\0\x02"s), kRow)},
      {"unknown compression", png_file(png_header(2, 1, 8, 0, "\x01\0\0"s), kRow)},
      {"palette type without one", png_file(png_header(2, 1, 8, 3), kRow)},
      {"palette of four bytes", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", "1234"))},
      {"palette of 257 colors", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", std::string(771, 'x')))},
      {"two palettes", png_file(png_header(2, 1, 8, 3), kRow, png_chunk("PLTE", "123") + png_chunk("PLTE", "123"))},
      {"no data", file(kGray + kEnd)},
      {"empty data", file(kGray + png_chunk("IDAT", "") + kEnd)},
      {"interrupted data", file(kGray + halves[0] + text + halves[1] + kEnd)},
      {"two headers", file(kGray + kGray + kData + kEnd)},
      {"Apple's variant", file(png_chunk("CgBI", "1234") + kGray + kData + kEnd)},
      {"unknown critical chunk", file(kGray + png_chunk("ABCD", "") + kData + kEnd)},
      {"chunk name that is none", file(kGray + png_chunk("A\nBC", "") + kData + kEnd)},
      {"too few rows", png_file(png_header(2, 9, 8, 0), kRow)},
      {"not zlib", file(kGray + png_chunk("IDAT", "not zlib at all") + kEnd)},
      {"unknown filter", png_file(kGray, "\x09xy"s)},
  };
  for (const auto& [what, bytes] : damaged) {
    SCOPED_TRACE(what);
    EXPECT_ERROR(decode(bytes), ErrorKind::kFormat, "x.png: the PNG data is damaged: ");
  }
  EXPECT_EQ(decode(file(kGray + halves[0] + halves[1] + kEnd)).levels, decode(png_file(kGray, kRow)).levels);
}

TEST(BrokenImage, IsADamagedJpeg) {
  const std::string good = frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 1);
  const std::string damaged = "x.png: the JPEG data is damaged: ";
  const std::string unsupported = "x.png: is JPEG of a kind that is not supported: ";
  expect_refused({
      {"start alone", "\xFF\xD8\xFF", ErrorKind::kFormat,
       damaged + "Premature end of JPEG file (is the file truncated?)"},
      {"no frame", "\xFF\xD8\xFF\xD9", ErrorKind::kFormat, damaged},
      {"no scan", good + kEndOfJpeg, ErrorKind::kFormat, damaged},
      {"scan before the frame", "\xFF\xD8"s + kScan + kEndOfJpeg, ErrorKind::kFormat, damaged},
      {"segment beyond the file", "\xFF\xD8\xFF\xE0\x10\0abc"s, ErrorKind::kFormat, "truncated?"},
      {"segment of one byte", "\xFF\xD8\xFF\xE0\0\x01"s, ErrorKind::kFormat, damaged},
      {"two frames", good + frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 1).substr(2) + kScan + kEndOfJpeg,
       ErrorKind::kFormat, damaged},
      {"hierarchical", frame('\xC5', 8, "\0\x08"s, "\0\x08"s, 1) + kScan, ErrorKind::kUnsupported, unsupported},
      {"arithmetic coding", frame('\xC9', 8, "\0\x08"s, "\0\x08"s, 1) + kTables + kScan, ErrorKind::kUnsupported,
       "is JPEG with arithmetic coding"},
      {"12 bits", frame('\xC1', 12, "\0\x08"s, "\0\x08"s, 1) + kTables + kScan, ErrorKind::kUnsupported, "is JPEG of "},
      {"CMYK", frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 4) + kTables + kScan, ErrorKind::kUnsupported,
       "JPEG with 4 channels, expected 3 or 1; save what probably is CMYK as RGB"},
      {"two channels", frame('\xC0', 8, "\0\x08"s, "\0\x08"s, 2) + kTables + kScan, ErrorKind::kUnsupported,
       "JPEG with 2 channels, expected 3 or 1; save it as RGB"},
      {"no height", frame('\xC0', 8, "\0\0"s, "\0\x08"s, 1) + kScan, ErrorKind::kFormat, damaged},
      {"frame cut short", "\xFF\xD8"s + segment('\xC0', "\x08\0\x08\0\x08\x03\x01\x11\0"s), ErrorKind::kFormat,
       damaged},
      {"empty frame", "\xFF\xD8"s + segment('\xC0', ""), ErrorKind::kFormat, damaged},
      {"no quantization tables", good + kDcTable + kAcTable + kScan + kZeros + kEndOfJpeg, ErrorKind::kFormat,
       damaged + "Quantization table"},
      {"Huffman table number 4", good + segment('\xC4', "\x04" + std::string(16, '\0')), ErrorKind::kFormat, damaged},
      {"Huffman table cut short", good + segment('\xC4', "\0\x01"s + std::string(15, '\0')), ErrorKind::kFormat,
       damaged},
      {"quantization table of 63 numbers", good + segment('\xDB', std::string(64, '\0')), ErrorKind::kFormat, damaged},
      {"empty scan header", good + segment('\xDA', ""), ErrorKind::kFormat, damaged},
      {"scan of nothing", good + segment('\xDA', "\0\0\x3F\0"s), ErrorKind::kFormat, damaged},
      {"codes that do not exist", good + kTables + kScan + std::string(20, '\x7F') + kEndOfJpeg, ErrorKind::kFormat,
       damaged + "Corrupt JPEG data: bad Huffman code"},
      {"no codes", good + kTables + kScan + kEndOfJpeg, ErrorKind::kFormat,
       damaged + "Corrupt JPEG data: premature end of data segment"},
      {"one row of blocks missing", frame('\xC0', 8, "\0\x10"s, "\0\x08"s, 1) + kTables + kScan + "\x3F" + kEndOfJpeg,
       ErrorKind::kFormat, damaged},
      {"a second scan of everything", good + kTables + kScan + kZeros + kScan + kZeros + kEndOfJpeg, ErrorKind::kFormat,
       damaged},
      {"too many scans", scans(4), ErrorKind::kUnsupported, "more than 200 scans"},
  });
  // The files that the table starts from.
  const std::vector<std::uint8_t> flat(8 * 8 * 3, 128);
  EXPECT_EQ(decode(good + kTables + kScan + kZeros + kEndOfJpeg).levels, flat);
  EXPECT_EQ(decode(good + kTables + kScan + kZeros + "padding" + kEndOfJpeg).levels, flat);
  EXPECT_EQ(decode(scans(1)).levels, flat);
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
  const std::string huge = png_file(png_header(0x7FFFFFFF, 0x7FFFFFFF, 16, 6), kRow);
  EXPECT_ERROR(decode(huge), ErrorKind::kUnsupported, "2147483647 wide");
  EXPECT_ERROR(decode(png_file(kGray, kRow), {.max_pixels = 1}), ErrorKind::kUnsupported, "at most 1 pixels");
  const auto jpeg = [](const std::string& side) { return frame('\xC0', 8, side, side, 3) + kScan + kEndOfJpeg; };
  EXPECT_ERROR(decode(jpeg("\xFF\xFF")), ErrorKind::kUnsupported, "65500 pixels");
  EXPECT_ERROR(decode(jpeg("\xF0\xF0")), ErrorKind::kUnsupported, "61680 wide, expected at most 67108864 pixels");
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
  return bytes + test::zlib_checksum(std::string(1 + 258 * static_cast<std::size_t>(count), '\0'));
}

TEST(BrokenImage, HoldsFarMoreDataThanItHasPixels) {
  const auto file = [](int count) { return kSignature + kGray + png_chunk("IDAT", bomb(count)) + kEnd; };
  // PIL ignores it, too. Neither inflates it: 20000 repeats would be 5 MB.
  EXPECT_EQ(decode(file(2)).levels, std::vector<std::uint8_t>(6, 0));
  EXPECT_EQ(decode(file(20000)).levels, std::vector<std::uint8_t>(6, 0));
}

TEST(BrokenImage, WasAskedForInTwoChannels) {
  EXPECT_ERROR(decode(png_file(kGray, kRow), {.channels = 2}), ErrorKind::kInvalidArgument, "2 channels");
}

TEST(BrokenImage, IsNotThere) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(open_image(folder.path() / "none.png"), ErrorKind::kIo, "none.png: cannot open");
  EXPECT_ERROR(open_image(folder.path()), ErrorKind::kIo, "is a folder");
  EXPECT_ERROR(open_image(folder.write("empty.jpg", "")), ErrorKind::kFormat, "empty.jpg: is empty");
}

}  // namespace
}  // namespace headscope
