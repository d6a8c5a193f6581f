#include "headscope/run/schema_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "headscope/run/schema.h"

namespace headscope {
namespace {

const std::filesystem::path kPage = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "docs/files.md";
constexpr std::string_view kBegin = "<!-- generated from include/headscope/run/schema: see HACKING.md -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

TEST(SchemaMarkdown, ListsEveryFileAndColumn) {
  const std::string text = run_files_markdown();
  for (const FileSchema* file : run_schema()) {
    EXPECT_THAT(text, testing::HasSubstr("| `" + std::string(file->path) + "` |"));
    for (const ColumnSchema& column : file->columns) {
      EXPECT_THAT(text, testing::HasSubstr("| `" + std::string(column.name) + "` |"));
    }
  }
}

// With HEADSCOPE_UPDATE_DOCS=1 in the environment it rewrites the page instead.
TEST(SchemaMarkdown, IsThePageInTheDocumentation) {
  std::ostringstream contents;
  contents << std::ifstream(kPage).rdbuf();
  const std::string page = contents.str();
  const std::size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos) << kPage << " has no line " << kBegin;
  const std::size_t end = page.find(kEnd, begin);
  ASSERT_NE(end, std::string::npos) << kPage << " has no line " << kEnd;
  const std::string expected =
      page.substr(0, begin + kBegin.size()) + "\n" + run_files_markdown() + "\n" + page.substr(end);
  if (std::getenv("HEADSCOPE_UPDATE_DOCS") != nullptr) {
    std::ofstream(kPage) << expected;
    return;
  }
  EXPECT_TRUE(page == expected) << kPage << " is stale: run this test again with HEADSCOPE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace headscope
