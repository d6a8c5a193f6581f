#include "app/expand_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array<std::string_view, 2> kExtensions = {".png", ".jpg"};
constexpr FileKind kImages = {"--image", "PNG or JPEG file", kExtensions};

std::vector<std::string> names(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> result;
  for (const auto& path : paths) result.push_back(path.filename().string());
  return result;
}

TEST(ExpandPaths, OrdersNumbersByValue) {
  std::vector<std::string> list = {"b1", "a10.png", "A2.png", "a2.png", "a02.png", "a", "1", "a1b2", "a1b10"};
  std::ranges::sort(list, is_naturally_before);
  EXPECT_THAT(list, ElementsAre("1", "a", "a1b2", "a1b10", "A2.png", "a02.png", "a2.png", "a10.png", "b1"));
}

TEST(ExpandPaths, ListsFoldersAndPatternsInPlace) {
  const test::TemporaryFolder folder;
  for (const char* name : {"p10.png", "p9.PNG", "p1.jpg", "notes.txt", ".hidden.png"}) folder.write(name, "");
  folder.write("inner.png/p.png", "");
  const std::filesystem::path& path = folder.path();
  const auto expanded = [](std::vector<std::filesystem::path> paths) { return names(expand_paths(paths, kImages)); };
  EXPECT_THAT(expanded({path}), ElementsAre("p1.jpg", "p9.PNG", "p10.png"));
  EXPECT_THAT(expanded({path / "notes.txt", path, "nowhere.png"}),
              ElementsAre("notes.txt", "p1.jpg", "p9.PNG", "p10.png", "nowhere.png"));
  EXPECT_THAT(expanded({path / "p*.png"}), ElementsAre("p10.png"));
  EXPECT_THAT(expanded({path / "p?.*"}), ElementsAre("p1.jpg", "p9.PNG"));
  folder.write("p*.png", "");
  EXPECT_THAT(expanded({path / "p*.png"}), ElementsAre("p*.png"));  // it exists
  EXPECT_THAT(expanded({}), IsEmpty());
}

TEST(ExpandPaths, NamesWhatIsWrong) {
  const test::TemporaryFolder folder;
  folder.write("notes.txt", "");
  const std::vector<std::filesystem::path> empty = {folder.path()};
  EXPECT_ERROR(expand_paths(empty, kImages), ErrorKind::kIo, "the folder has no PNG or JPEG file for --image");
  const std::vector<std::filesystem::path> pattern = {folder.path() / "*.png"};
  EXPECT_ERROR(expand_paths(pattern, kImages), ErrorKind::kIo, "*.png: matches no file for --image");
  const std::vector<std::filesystem::path> nowhere = {folder.path() / "nowhere" / "*.png"};
  EXPECT_ERROR(expand_paths(nowhere, kImages), ErrorKind::kIo, "cannot list the folder");
}

}  // namespace
}  // namespace headscope::app
