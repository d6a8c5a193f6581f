#include "headscope/io/safetensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

std::string file_of(std::string_view header, std::string_view data) {
  return test::Bytes().add<std::uint64_t>(header.size()).add_text(header).add_text(data).str();
}

constexpr std::string_view kHeader = R"({"__metadata__": {"format": "pt"},)"
                                     R"( "b": {"dtype": "F16", "shape": [3], "data_offsets": [16, 22]},)"
                                     R"( "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},)"
                                     R"( "none": {"dtype": "F32", "shape": [0, 7], "data_offsets": [22, 22]},)"
                                     R"( "scalar": {"dtype": "U8", "shape": [], "data_offsets": [22, 23]}})";
const std::string kData = "0123456789abcdefghijklm";

TEST(Safetensors, ListsTensorsInTheOrderOfTheirBytes) {
  const test::TemporaryFolder folder;
  const auto file = SafetensorsFile::open(folder.write("x.safetensors", file_of(kHeader, kData)));
  std::vector<std::string> names;
  for (const StoredTensor& tensor : file.tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "none", "scalar"}));
  EXPECT_EQ(file.tensors()[0].shape, (Shape{2, 2}));
  EXPECT_EQ(file.tensors()[1].dtype, DType::kF16);
  EXPECT_EQ(file.tensors()[1].bytes.size(), 6u);
  EXPECT_EQ(static_cast<char>(file.tensors()[1].bytes[0]), 'g');
  EXPECT_EQ(file.tensors()[3].shape, Shape{});
}

TEST(Safetensors, KeepsItsBytesWhenMoved) {
  const test::TemporaryFolder folder;
  auto file = SafetensorsFile::open(folder.write("x.safetensors", file_of(kHeader, kData)));
  const StoredTensor* before = file.tensors().data();
  const SafetensorsFile moved = std::move(file);
  EXPECT_EQ(moved.tensors().data(), before);
  EXPECT_EQ(static_cast<char>(moved.tensors()[0].bytes[0]), '0');
}

TEST(Safetensors, AcceptsAnEmptyModel) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(SafetensorsFile::open(folder.write("x.safetensors", file_of("{}", ""))).tensors().empty());
}

struct Broken {
  std::string what;
  std::string file;
  ErrorKind kind;
  std::string message;
};

std::string one_tensor(const std::string& entry, std::string_view data = "01234567") {
  return file_of("{\"t\": " + entry + "}", data);
}

TEST(Safetensors, RefusesBrokenFiles) {
  const std::vector<Broken> table = {
      {"empty", "", ErrorKind::kFormat, "the header's length at byte 0 needs 8 bytes, but only 0 are left"},
      {"seven bytes", "1234567", ErrorKind::kFormat, "only 7 are left"},
      {"header beyond the file", test::Bytes().add<std::uint64_t>(50).add_text("{}").str(), ErrorKind::kFormat,
       "the header at byte 8 needs 50 bytes, but only 2 are left"},
      {"header beyond any file", test::Bytes().add<std::uint64_t>(~0ull).add_text("{}").str(), ErrorKind::kFormat,
       "the header claims 18446744073709551615 bytes"},
      {"header over the format's bound", test::Bytes().add<std::uint64_t>(100'000'001).add_text("{}").str(),
       ErrorKind::kFormat, "the format allows 100000000"},
      {"not an object", file_of("[1]", ""), ErrorKind::kFormat, "does not begin with '{'"},
      {"not JSON", file_of("{\"a\": }", ""), ErrorKind::kFormat, "not valid JSON"},
      {"entry not an object", one_tensor("7"), ErrorKind::kFormat, "tensor 't': is not described by an object"},
      {"no dtype", one_tensor(R"({"shape": [2], "data_offsets": [0, 8]})"), ErrorKind::kFormat, "has no 'dtype'"},
      {"dtype a number", one_tensor(R"({"dtype": 4, "shape": [2], "data_offsets": [0, 8]})"), ErrorKind::kFormat,
       "has no 'dtype'"},
      {"unknown dtype", one_tensor(R"({"dtype": "F3", "shape": [2], "data_offsets": [0, 8]})"), ErrorKind::kUnsupported,
       "unknown dtype 'F3'"},
      {"a GGUF type", one_tensor(R"({"dtype": "Q4_K", "shape": [2], "data_offsets": [0, 8]})"), ErrorKind::kUnsupported,
       "unknown dtype 'Q4_K'"},
      {"no shape", one_tensor(R"({"dtype": "F32", "data_offsets": [0, 8]})"), ErrorKind::kFormat, "has no 'shape'"},
      {"negative extent", one_tensor(R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})"), ErrorKind::kFormat,
       "not a non-negative integer"},
      {"fractional extent", one_tensor(R"({"dtype": "F32", "shape": [2.5], "data_offsets": [0, 8]})"),
       ErrorKind::kFormat, "not a non-negative integer"},
      {"overflowing product",
       one_tensor(R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]})"), ErrorKind::kFormat,
       "expected a number that fits 64 bits"},
      {"overflowing size", one_tensor(R"({"dtype": "F64", "shape": [4611686018427387904], "data_offsets": [0, 8]})"),
       ErrorKind::kFormat, "expected a number that fits 64 bits"},
      {"size and shape disagree", one_tensor(R"({"dtype": "F32", "shape": [3], "data_offsets": [0, 8]})"),
       ErrorKind::kFormat, "of shape [3] and dtype F32 has 8 bytes, expected 12"},
      {"no offsets", one_tensor(R"({"dtype": "F32", "shape": [2]})"), ErrorKind::kFormat, "no 'data_offsets' pair"},
      {"one offset", one_tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0]})"), ErrorKind::kFormat,
       "no 'data_offsets' pair"},
      {"three offsets", one_tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]})"), ErrorKind::kFormat,
       "not two integers"},
      {"negative offset", one_tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]})"), ErrorKind::kFormat,
       "not two integers"},
      {"end before begin", one_tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})"), ErrorKind::kFormat,
       "begins at byte 8 and ends before it, at 0"},
      {"beyond the file", one_tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})", "0123"),
       ErrorKind::kFormat, "ends at byte 8 of the data, but the file holds only 4 (is it truncated?)"},
      {"overlap",
       file_of(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},)"
               R"( "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}})",
               "012345"),
       ErrorKind::kFormat, "tensor 'b' begins at byte 2 of the data, overlapping byte 4"},
      {"hole",
       file_of(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},)"
               R"( "b": {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]}})",
               "012345"),
       ErrorKind::kFormat, "leaving a gap after byte 2"},
      {"bytes of no tensor", one_tensor(R"({"dtype": "U8", "shape": [2], "data_offsets": [0, 2]})"), ErrorKind::kFormat,
       "the last 6 bytes belong to no tensor"},
      {"the same name twice",
       file_of(R"({"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},)"
               R"( "a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})",
               ""),
       ErrorKind::kFormat, "duplicate tensor 'a'"},
      {"a name with a line break", file_of("{\"a\\nb\": 1}", ""), ErrorKind::kFormat, "tensor 'a\\x0ab'"},
  };
  const test::TemporaryFolder folder;
  for (const Broken& broken : table) {
    SCOPED_TRACE(broken.what);
    EXPECT_ERROR(SafetensorsFile::open(folder.write("x.safetensors", broken.file)), broken.kind, broken.message);
  }
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string whole = file_of(kHeader, kData);
  const test::TemporaryFolder folder;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW((void)SafetensorsFile::open(folder.write("x.safetensors", whole.substr(0, size))), Error) << size;
  }
}

TEST(Safetensors, SurvivesEveryFlippedByte) {
  const std::string whole = file_of(kHeader, kData);
  const test::TemporaryFolder folder;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ flip);
      try {
        (void)SafetensorsFile::open(folder.write("x.safetensors", broken));
      } catch (const Error&) {
        // Refused is fine; anything else ends the test.
      }
    }
  }
}

}  // namespace
}  // namespace headscope
