#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "headscope/base/shape.h"
#include "headscope/io/dtype.h"
#include "headscope/io/gguf.h"
#include "support/expect_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::Bytes;
using test::GgufBytes;
using test::TemporaryFolder;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4_K = 12;
constexpr auto kArray = static_cast<std::uint32_t>(GgufType::kArray);
constexpr auto kBool = static_cast<std::uint32_t>(GgufType::kBool);
constexpr std::uint64_t kHuge = ~std::uint64_t{0};

struct Broken {
  const char* name;
  std::function<void(GgufBytes&)> breaks;
  ErrorKind kind;
  const char* message;
};

void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

// `depth` arrays inside each other, the innermost empty.
Bytes nested_arrays(int depth) {
  Bytes bytes;
  for (int i = 1; i < depth; ++i) bytes.add<std::uint32_t>(kArray).add<std::uint64_t>(1);
  return bytes.add<std::uint32_t>(kBool).add<std::uint64_t>(0);
}

Bytes array_head(GgufType type, std::uint64_t count) {
  return Bytes().add<std::uint32_t>(static_cast<std::uint32_t>(type)).add<std::uint64_t>(count);
}

const ErrorKind kFormat = ErrorKind::kFormat;
const ErrorKind kUnsupported = ErrorKind::kUnsupported;

const std::vector<Broken> kBrokenFiles = {
    {"WrongMagic", [](GgufBytes& b) { b.magic = "GG\nF"; }, kFormat, "begins with 'GG\\x0aF', expected 'GGUF'"},
    {"VersionOne", [](GgufBytes& b) { b.version = 1; }, kUnsupported, "is GGUF version 1, expected 2 or 3"},
    {"VersionZero", [](GgufBytes& b) { b.version = 0; }, kUnsupported, "is GGUF version 0, expected 2 or 3"},
    {"VersionFour", [](GgufBytes& b) { b.version = 4; }, kUnsupported, "is GGUF version 4, expected 2 or 3"},
    {"BigEndian", [](GgufBytes& b) { b.version = 0x03000000; }, kUnsupported, "is a big-endian GGUF file (version 3)"},
    {"TooManyEntries", [](GgufBytes& b) { b.entry_count = 1000; }, kFormat, "claims 1000 metadata entries"},
    {"TooManyTensors", [](GgufBytes& b) { b.tensor_count = 1000; }, kFormat, "claims 1000 tensors"},
    {"MostEntriesThereCanBe", [](GgufBytes& b) { b.entry_count = kHuge; }, kFormat, "claims 18446744073709551615"},
    {"MostTensorsThereCanBe", [](GgufBytes& b) { b.tensor_count = kHuge; }, kFormat, "claims 18446744073709551615"},
    {"KeyTwice", [](GgufBytes& b) { b.add_u32("k\n", 1).add_u32("k\n", 2); }, kFormat, "duplicate key 'k\\x0a'"},
    {"UnknownValueType", [](GgufBytes& b) { b.add("k", 13, Bytes().add<std::uint64_t>(0)); }, kFormat,
     "key 'k' has type 13, expected 0 to 12"},
    {"StringPastTheEnd", [](GgufBytes& b) { b.add("k", GgufType::kString, Bytes().add<std::uint64_t>(kHuge)); },
     kFormat, "key 'k' at byte"},
    {"BoolOfTwo", [](GgufBytes& b) { b.add("k", GgufType::kBool, Bytes().add<std::uint8_t>(2)); }, kFormat,
     "key 'k' has a bool of 2, expected 0 or 1"},
    {"ArrayOfBadBools",
     [](GgufBytes& b) { b.add("k", GgufType::kArray, array_head(GgufType::kBool, 2).add_text("\x01\x07")); }, kFormat,
     "key 'k' has a bool of 7, expected 0 or 1"},
    {"ArrayOfUnknownType", [](GgufBytes& b) { b.add("k", GgufType::kArray, array_head(GgufType{99}, 0)); }, kFormat,
     "key 'k' has type 99, expected 0 to 12"},
    // 2^61 elements of 8 bytes: the product is 0 in 64 bits.
    {"ArrayWhoseSizeWraps",
     [](GgufBytes& b) { b.add("k", GgufType::kArray, array_head(GgufType::kU64, std::uint64_t{1} << 61)); }, kFormat,
     "key 'k' is an array of 2305843009213693952 elements of at least 8 bytes"},
    {"LongArrayOfStrings", [](GgufBytes& b) { b.add("k", GgufType::kArray, array_head(GgufType::kString, kHuge)); },
     kFormat, "key 'k' is an array of 18446744073709551615 elements"},
    {"LongArrayOfArrays", [](GgufBytes& b) { b.add("k", GgufType::kArray, array_head(GgufType::kArray, kHuge)); },
     kFormat, "key 'k' is an array of 18446744073709551615 elements of at least 12 bytes"},
    {"DeepArray", [](GgufBytes& b) { b.add("k", GgufType::kArray, nested_arrays(5)); }, kFormat,
     "key 'k' nests arrays more than 4 deep"},
    {"AlignmentOfAnotherType",
     [](GgufBytes& b) { b.add("general.alignment", GgufType::kU64, Bytes().add<std::uint64_t>(32)); }, kFormat,
     "general.alignment has type 10, expected 4"},
    {"AlignmentZero", [](GgufBytes& b) { b.add_u32("general.alignment", 0); }, kFormat,
     "general.alignment is 0, expected a power of two"},
    {"AlignmentNoPowerOfTwo", [](GgufBytes& b) { b.add_u32("general.alignment", 48); }, kFormat,
     "general.alignment is 48, expected a power of two"},
    {"AlignmentPastTheEnd", [](GgufBytes& b) { b.add_u32("general.alignment", 1U << 31); }, kFormat,
     "tensor 'good' takes 4 bytes at offset 0, but the tensor data has only 0 bytes"},
    {"TensorTwice", [](GgufBytes& b) { b.add_tensor("good", {1}, kF32, "abcd"); }, kFormat, "duplicate tensor 'good'"},
    {"FiveDimensions",
     [](GgufBytes& b) {
       b.add_tensor_at("t", {1, 1, 1, 1, 1}, kF32, 32);
     },
     kFormat, "tensor 't' has 5 dimensions, expected at most 4"},
    {"UnknownTensorType", [](GgufBytes& b) { b.add_tensor_at("t\x1b", {1}, 77, 32); }, kUnsupported,
     "tensor 't\\x1b' has unknown ggml type 77"},
    // ggml removed this number's type.
    {"RemovedTensorType", [](GgufBytes& b) { b.add_tensor_at("t", {32}, 4, 32); }, kUnsupported,
     "tensor 't' has unknown ggml type 4"},
    {"RowOfHalfABlock",
     [](GgufBytes& b) {
       b.add_tensor_at("t", {128, 2}, kQ4_K, 32);
     },
     kFormat, "tensor 't' of type Q4_K has rows of 128 elements, expected a multiple of 256"},
    {"ElementsWrap",
     [](GgufBytes& b) {
       b.add_tensor_at("t", {1ULL << 32, 1ULL << 32}, kF32, 32);
     },
     kFormat, "tensor 't' is [4294967296, 4294967296], expected a size that fits 64 bits"},
    {"BytesWrap", [](GgufBytes& b) { b.add_tensor_at("t", {1ULL << 62}, kF32, 32); }, kFormat,
     "tensor 't' is [4611686018427387904], expected a size that fits 64 bits"},
    {"OddOffset", [](GgufBytes& b) { b.add_tensor_at("t", {1}, kF32, 36); }, kFormat,
     "tensor 't' begins at offset 36, expected a multiple of 32"},
    {"OffsetPastTheEnd", [](GgufBytes& b) { b.add_tensor_at("t", {1}, kF32, 64); }, kFormat,
     "tensor 't' takes 4 bytes at offset 64, but the tensor data has only 4 bytes"},
    {"EmptyTensorPastTheEnd", [](GgufBytes& b) { b.add_tensor_at("t", {0}, kF32, 64); }, kFormat,
     "tensor 't' takes 0 bytes at offset 64"},
    {"OffsetThatWraps", [](GgufBytes& b) { b.add_tensor_at("t", {16}, kF32, kHuge - 31); }, kFormat,
     "tensor 't' takes 64 bytes at offset 18446744073709551584"},
    {"TensorTooLong", [](GgufBytes& b) { b.add_tensor_at("t", {1000}, kF32, 0); }, kFormat,
     "tensor 't' takes 4000 bytes at offset 0, but the tensor data has only 4 bytes"},
    {"SamePlace", [](GgufBytes& b) { b.add_tensor_at("t", {1}, kF32, 0); }, kFormat, "by 4 bytes"},
    {"Overlap",
     [](GgufBytes& b) { b.add_tensor("t", {10}, kF32, std::string(40, 'a')).add_tensor_at("u", {1}, kF32, 64); },
     kFormat, "tensor 'u' overlaps tensor 't' by 8 bytes"},
};

class BrokenGguf : public testing::TestWithParam<Broken> {};

TEST_P(BrokenGguf, IsRefusedWithAMessageThatSaysWhy) {
  GgufBytes contents;
  contents.add_tensor("good", {1}, kF32, "good");
  GetParam().breaks(contents);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("file.gguf", contents.str());

  EXPECT_ERROR(GgufFile::open(path), GetParam().kind, GetParam().message);
  EXPECT_ERROR(GgufFile::open(path), GetParam().kind, path.string() + ": ");
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenGguf, testing::ValuesIn(kBrokenFiles),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

std::string small_file() {
  const Bytes words =
      array_head(GgufType::kString, 2).add_text(GgufBytes::text("ab").str()).add_text(GgufBytes::text("").str());
  GgufBytes contents;
  contents.alignment = 8;
  return contents.add_u32("general.alignment", 8)
      .add("words", GgufType::kArray, words)
      .add("nested", GgufType::kArray, nested_arrays(3))
      .add("yes", GgufType::kBool, Bytes().add<std::uint8_t>(1))
      .add_tensor("q", {32, 1}, 2, std::string(18, 'q'))
      .add_tensor("f", {2, 2}, kF32, std::string(16, 'f'))
      .str();
}

void read_everything(const GgufFile& file) {
  for (const GgufEntry& entry : file.metadata()) {
    if (const auto elements = entry.value.as_array()) {
      for (const GgufValue& element : *elements) static_cast<void>(element.as_string());
    }
    static_cast<void>(entry.value.as_number());
  }
  for (const StoredTensor& tensor : file.tensors()) {
    ASSERT_EQ(stored_bytes(tensor.dtype, *element_count(tensor.shape)), tensor.bytes.size());
  }
}

TEST(TruncatedGguf, IsRefusedWhereverItIsCut) {
  const TemporaryFolder folder;
  const std::string whole = small_file();
  EXPECT_NO_THROW(read_everything(GgufFile::open(folder.write("file.gguf", whole))));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    const std::filesystem::path path = folder.write("file.gguf", whole.substr(0, length));
    EXPECT_ERROR(GgufFile::open(path), ErrorKind::kFormat, path.string());
  }
}

TEST(DamagedGguf, IsReadOrRefusedButNeverCrashes) {
  const TemporaryFolder folder;
  const std::string whole = small_file();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      try {
        read_everything(GgufFile::open(folder.write("file.gguf", damaged)));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace headscope
