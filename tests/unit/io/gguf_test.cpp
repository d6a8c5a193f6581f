#include "headscope/io/gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headscope/io/byte_reader.h"
#include "support/expect_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::Bytes;
using test::GgufBytes;
using test::TemporaryFolder;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4_0 = 2;

class GgufTest : public testing::Test {
 protected:
  GgufFile open(const GgufBytes& contents) const { return open(contents.str()); }
  GgufFile open(const std::string& contents) const { return GgufFile::open(folder_.write("file.gguf", contents)); }

 private:
  TemporaryFolder folder_;
};

TEST_F(GgufTest, ReadsMetadataAndTensorsInPlace) {
  const GgufFile file = open(GgufBytes()
                                 .add_string("general.architecture", "llama")
                                 .add_u32("llama.block_count", 2)
                                 .add_tensor("blk.0.attn_q.weight", {2, 3}, kF32, std::string(24, 'a'))
                                 .add_tensor("blk.0.attn_k.weight", {32, 2}, kQ4_0, std::string(36, 'b')));

  EXPECT_EQ(file.version(), 3U);
  EXPECT_EQ(file.find("general.architecture")->as_string(), "llama");
  EXPECT_EQ(file.find("llama.block_count")->as_unsigned(), 2U);
  EXPECT_FALSE(file.find("llama.block"));
  EXPECT_FALSE(file.find(""));
  EXPECT_FALSE(file.find("zzz"));
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensors()[0].name, "blk.0.attn_q.weight");
  EXPECT_EQ(file.tensors()[0].dtype, DType::kF32);
  EXPECT_EQ(as_text(file.tensors()[0].bytes), std::string(24, 'a'));
  EXPECT_EQ(file.tensors()[1].dtype, DType::kQ4_0);
  EXPECT_EQ(as_text(file.tensors()[1].bytes), std::string(36, 'b'));
}

TEST_F(GgufTest, PutsTheOutermostExtentFirst) {
  const GgufFile file = open(GgufBytes()
                                 .add_tensor("matrix", {2, 3}, kF32, std::string(24, '\0'))
                                 .add_tensor("four", {1, 2, 3, 4}, kF32, std::string(96, '\0'))
                                 .add_tensor("scalar", {}, kF32, std::string(4, '\0'))
                                 .add_tensor("nothing", {5, 0}, kF32, ""));
  EXPECT_EQ(file.tensors()[0].shape, (Shape{3, 2}));
  EXPECT_EQ(file.tensors()[1].shape, (Shape{4, 3, 2, 1}));
  EXPECT_EQ(file.tensors()[2].shape, Shape{});
  EXPECT_EQ(file.tensors()[3].shape, (Shape{0, 5}));
  EXPECT_TRUE(file.tensors()[3].bytes.empty());
}

TEST_F(GgufTest, ReadsVersionTwoAndFilesWithoutAnyTensor) {
  GgufBytes contents;
  contents.version = 2;
  const GgufFile file = open(contents);
  EXPECT_EQ(file.version(), 2U);
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_TRUE(file.tensors().empty());
}

TEST_F(GgufTest, FollowsTheAlignmentTheFileAsksFor) {
  for (const std::uint32_t alignment : {1U, 8U, 64U, 4096U}) {
    GgufBytes contents;
    contents.alignment = alignment;
    contents.add_u32("general.alignment", alignment);
    contents.add_tensor("a", {1}, kF32, "abcd").add_tensor("b", {1}, kF32, "efgh");
    const GgufFile file = open(contents);
    EXPECT_EQ(as_text(file.tensors()[0].bytes), "abcd");
    EXPECT_EQ(as_text(file.tensors()[1].bytes), "efgh");
  }
}

TEST_F(GgufTest, StaysValidWhenMoved) {
  GgufFile first = open(GgufBytes().add_string("key", "value").add_tensor("a", {1}, kF32, "abcd"));
  const GgufFile second = std::move(first);
  EXPECT_EQ(second.find("key")->as_string(), "value");
  EXPECT_EQ(as_text(second.tensors()[0].bytes), "abcd");
}

TEST_F(GgufTest, ListsMetadataByKey) {
  const GgufFile file = open(GgufBytes().add_u32("b", 2).add_u32("c", 3).add_u32("a", 1));
  ASSERT_EQ(file.metadata().size(), 3U);
  EXPECT_EQ(file.metadata()[0].key, "a");
  EXPECT_EQ(file.metadata()[2].value.as_unsigned(), 3U);
}

TEST_F(GgufTest, GivesEveryIntegerTypeAsUnsignedIfNotNegative) {
  const GgufFile file = open(GgufBytes()
                                 .add("u8", GgufType::kU8, Bytes().add<std::uint8_t>(200))
                                 .add("i8", GgufType::kI8, Bytes().add<std::int8_t>(-3))
                                 .add("u16", GgufType::kU16, Bytes().add<std::uint16_t>(60000))
                                 .add("i16", GgufType::kI16, Bytes().add<std::int16_t>(300))
                                 .add("u32", GgufType::kU32, Bytes().add<std::uint32_t>(4000000000U))
                                 .add("i32", GgufType::kI32, Bytes().add<std::int32_t>(-1))
                                 .add("u64", GgufType::kU64, Bytes().add<std::uint64_t>(~0ULL))
                                 .add("i64", GgufType::kI64, Bytes().add<std::int64_t>(1LL << 40)));
  EXPECT_EQ(file.find("u8")->as_unsigned(), 200U);
  EXPECT_EQ(file.find("i8")->as_unsigned(), std::nullopt);
  EXPECT_EQ(file.find("u16")->as_unsigned(), 60000U);
  EXPECT_EQ(file.find("i16")->as_unsigned(), 300U);
  EXPECT_EQ(file.find("u32")->as_unsigned(), 4000000000U);
  EXPECT_EQ(file.find("i32")->as_unsigned(), std::nullopt);
  EXPECT_EQ(file.find("u64")->as_unsigned(), ~0ULL);
  EXPECT_EQ(file.find("i64")->as_unsigned(), 1ULL << 40);
  EXPECT_EQ(file.find("i8")->as_number(), -3.0);
  EXPECT_EQ(file.find("i32")->as_number(), -1.0);
  EXPECT_EQ(file.find("u64")->as_number(), 0x1p64);
}

TEST_F(GgufTest, AnswersNothingWhenTheValueHasAnotherType) {
  const GgufFile file = open(GgufBytes()
                                 .add("f32", GgufType::kF32, Bytes().add<float>(0.5F))
                                 .add("f64", GgufType::kF64, Bytes().add<double>(1e-300))
                                 .add("bool", GgufType::kBool, Bytes().add<std::uint8_t>(1))
                                 .add_string("string", "text"));
  EXPECT_EQ(file.find("f32")->as_number(), 0.5);
  EXPECT_EQ(file.find("f64")->as_number(), 1e-300);
  EXPECT_EQ(file.find("f32")->as_unsigned(), std::nullopt);
  EXPECT_EQ(file.find("bool")->as_bool(), true);
  EXPECT_EQ(file.find("bool")->as_unsigned(), std::nullopt);
  EXPECT_EQ(file.find("bool")->as_number(), std::nullopt);
  EXPECT_EQ(file.find("string")->as_number(), std::nullopt);
  EXPECT_EQ(file.find("string")->as_bool(), std::nullopt);
  EXPECT_EQ(file.find("string")->as_array(), std::nullopt);
  EXPECT_EQ(file.find("string")->array_size(), std::nullopt);
  EXPECT_EQ(file.find("f32")->as_string(), std::nullopt);
}

Bytes array_of(GgufType type, std::uint64_t count, const Bytes& elements) {
  return Bytes()
      .add<std::uint32_t>(static_cast<std::uint32_t>(type))
      .add<std::uint64_t>(count)
      .add_text(elements.str());
}

TEST_F(GgufTest, GivesTheElementsOfArraysAlsoOfArraysOfArrays) {
  const Bytes numbers = array_of(GgufType::kI16, 2, Bytes().add<std::int16_t>(5).add<std::int16_t>(-6));
  const Bytes empty = array_of(GgufType::kString, 0, Bytes());
  const Bytes words = Bytes().add_text(GgufBytes::text("one").str()).add_text(GgufBytes::text("").str());
  const GgufFile file =
      open(GgufBytes()
               .add("numbers", GgufType::kArray, numbers)
               .add("words", GgufType::kArray, array_of(GgufType::kString, 2, words))
               .add("nested", GgufType::kArray,
                    array_of(GgufType::kArray, 2, Bytes().add_text(numbers.str()).add_text(empty.str())))
               .add_u32("after", 1));

  EXPECT_EQ(file.find("numbers")->array_size(), 2U);
  EXPECT_EQ(file.find("numbers")->as_array()->at(0).as_unsigned(), 5U);
  EXPECT_EQ(file.find("numbers")->as_array()->at(1).as_number(), -6.0);
  EXPECT_EQ(file.find("words")->as_array()->at(0).as_string(), "one");
  EXPECT_EQ(file.find("words")->as_array()->at(1).as_string(), "");
  const std::vector<GgufValue> nested = *file.find("nested")->as_array();
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[0].as_array()->at(1).as_number(), -6.0);
  EXPECT_TRUE(nested[1].as_array()->empty());
  EXPECT_EQ(file.find("after")->as_unsigned(), 1U);
}

TEST_F(GgufTest, SaysThatAMissingFileCannotBeOpened) {
  EXPECT_ERROR(GgufFile::open("/nowhere/file.gguf"), ErrorKind::kIo, "/nowhere/file.gguf");
}

}  // namespace
}  // namespace headscope
