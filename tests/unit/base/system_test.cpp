#include "headscope/base/system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headscope {
namespace {

TEST(System, HasAtLeastOneProcessor) {
  EXPECT_GE(available_processors(), 1);
}

TEST(System, CountsPeakMemoryInBytes) {
  const std::size_t before = peak_memory();
  EXPECT_GT(before, std::size_t{1} << 20);  // no C++ program fits a megabyte
  constexpr std::size_t kMore = std::size_t{64} << 20;
  const std::vector<char> touched(before + kMore, 1);
  EXPECT_GE(peak_memory() + (std::size_t{1} << 20), touched.size());
}

TEST(System, NamesTheRunningProgram) {
  const std::filesystem::path path = program_path();
  EXPECT_EQ(path.filename(), "test_base");
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(System, OpensASharedFileOfThatNameOnly) {
  const int descriptor = create_shared_file("system-test-1");
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "x", 1), 1);

  const auto path = shared_file_path(::getpid(), descriptor, "system-test-1");

  ASSERT_TRUE(path);
  EXPECT_EQ(std::filesystem::file_size(*path), 1);
  EXPECT_FALSE(shared_file_path(::getpid(), descriptor, "system-test-2"));
  EXPECT_FALSE(shared_file_path(::getpid(), STDIN_FILENO, "system-test-1"));
  ::close(descriptor);
  EXPECT_FALSE(shared_file_path(::getpid(), descriptor, "system-test-1"));
}

}  // namespace
}  // namespace headscope
