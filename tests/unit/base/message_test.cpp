#include "headscope/base/message.h"

#include <gtest/gtest.h>

#include <array>

#include "support/expect_error.h"

namespace headscope {
namespace {

TEST(Message, ReadsBackWhatWasWritten) {
  MessageWriter writer;
  writer.put(7);
  writer.put_text("a text");
  writer.put_all(std::span<const double>(std::array{1.5, -2.0}));
  MessageReader reader(writer.bytes());
  EXPECT_EQ(reader.take<int>(), 7);
  EXPECT_EQ(reader.take_text(), "a text");
  std::array<double, 2> numbers{};
  reader.take_all(std::span<double>(numbers));
  EXPECT_EQ(numbers, (std::array{1.5, -2.0}));
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(Message, NeverReadsPastItsEnd) {
  MessageWriter writer;
  writer.put(std::size_t{1} << 62);  // the length of a text that is not there
  EXPECT_ERROR((void)MessageReader(writer.bytes()).take_text(), ErrorKind::kFormat, "truncated");
  EXPECT_ERROR((void)MessageReader(writer.bytes().first(3)).take<std::size_t>(), ErrorKind::kFormat, "truncated");
}

}  // namespace
}  // namespace headscope
