#include "headscope/io/byte_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "support/bytes.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

using test::Bytes;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(ByteReader, ReadsLittleEndianNumbersOneAfterTheOther) {
  const std::string data = Bytes().add_text("\x01\x02\x03\x04").add<double>(-0.5).add<std::int8_t>(-7).str();
  ByteReader reader(as_bytes(data), "file");

  EXPECT_EQ(reader.read<std::uint32_t>("number"), 0x04030201U);
  EXPECT_EQ(reader.read<double>("number"), -0.5);
  EXPECT_EQ(reader.read<std::int8_t>("number"), -7);
  EXPECT_EQ(reader.position(), 13U);
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, TakesBytesInPlace) {
  const std::string data = "abcdef";
  ByteReader reader(as_bytes(data), "file");

  static_cast<void>(reader.take(2, "head"));
  const auto taken = reader.take(3, "body");

  EXPECT_EQ(as_text(taken), "cde");
  EXPECT_EQ(static_cast<const void*>(taken.data()), data.data() + 2);
  EXPECT_EQ(reader.remaining(), 1U);
}

TEST(ByteReader, TakesNothingAtTheVeryEndAndFromNoBytesAtAll) {
  const std::string data = "ab";
  ByteReader reader(as_bytes(data), "file");
  static_cast<void>(reader.take(2, "all"));
  EXPECT_TRUE(reader.take(0, "nothing").empty());

  ByteReader empty({}, "file");
  EXPECT_TRUE(empty.take(0, "nothing").empty());
  EXPECT_EQ(as_text(empty.take(0, "nothing")), "");
}

TEST(ByteReader, SaysWhatWasMissingAndWhere) {
  const std::string data = "abcde";
  ByteReader reader(as_bytes(data), "model.gguf");
  static_cast<void>(reader.take(3, "head"));

  EXPECT_ERROR(reader.read<std::uint32_t>("tensor count"), ErrorKind::kFormat,
               "model.gguf: tensor count at byte 3 needs 4 bytes, but only 2 are left");
}

TEST(ByteReader, StaysWhereItIsAfterAFailedRead) {
  const std::string data = "abc";
  ByteReader reader(as_bytes(data), "file");

  EXPECT_ERROR(reader.read<std::uint32_t>("number"), ErrorKind::kFormat, "needs 4 bytes");
  EXPECT_EQ(as_text(reader.take(3, "rest")), "abc");
}

TEST(ByteReader, RefusesTheLargestLengthThereIs) {
  const std::string data = "abc";
  ByteReader reader(as_bytes(data), "file");
  static_cast<void>(reader.take(1, "head"));

  // Added to the position it would wrap around to 0.
  EXPECT_ERROR(reader.take(std::numeric_limits<std::uint64_t>::max(), "name"), ErrorKind::kFormat,
               "needs 18446744073709551615 bytes, but only 2 are left");
}

}  // namespace
}  // namespace headscope
