#include "headscope/io/zeroed_copy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

std::string copied(const std::string& source, const std::vector<ByteRange>& zeros) {
  const test::TemporaryFolder folder;
  AtomicFile file(folder.path() / "copy");
  write_zeroed_copy(std::as_bytes(std::span(source)), zeros, file);
  file.commit();
  std::ostringstream text;
  text << std::ifstream(folder.path() / "copy", std::ios::binary).rdbuf();
  return text.str();
}

TEST(ZeroedCopy, ChangesNothingButTheRanges) {
  EXPECT_EQ(copied("abcdefgh", {}), "abcdefgh");
  EXPECT_EQ(copied("abcdefgh", {{0, 2}, {2, 3}, {7, 8}}), std::string("\0\0\0defg\0", 8));
  EXPECT_EQ(copied("", {}), "");
}

TEST(ZeroedCopy, CrossesThePiecesItIsWrittenIn) {
  constexpr std::size_t kSize = (std::size_t{9} << 20) + 5;
  std::string source(kSize, '\0');
  for (std::size_t i = 0; i < kSize; ++i) source[i] = static_cast<char>(1 + i % 251);
  const std::vector<ByteRange> zeros = {{5, 9},
                                        {(std::size_t{4} << 20) - 3, (std::size_t{4} << 20) + 2},
                                        {std::size_t{5} << 20, (std::size_t{9} << 20) + 1}};
  std::string expected = source;
  for (const ByteRange& range : zeros)
    std::fill(expected.begin() + static_cast<std::ptrdiff_t>(range.begin),
              expected.begin() + static_cast<std::ptrdiff_t>(range.end), '\0');
  EXPECT_TRUE(copied(source, zeros) == expected);
}

TEST(ZeroedCopy, RefusesRangesThatOverlapOrLeaveTheFile) {
  EXPECT_ERROR(copied("abcdefgh", {{0, 4}, {3, 5}}), ErrorKind::kInvalidArgument, "range 3 to 5 begins before 4");
  EXPECT_ERROR(copied("abcdefgh", {{4, 9}}), ErrorKind::kInvalidArgument, "or ends after the 8 bytes of the file");
  EXPECT_ERROR(copied("abcdefgh", {{4, 3}}), ErrorKind::kInvalidArgument, "range 4 to 3");
}

}  // namespace
}  // namespace headscope
