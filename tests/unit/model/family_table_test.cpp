#include "headscope/model/family_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/read.h"

namespace headscope {
namespace {

const std::filesystem::path kPage = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "docs/checkpoints.md";
constexpr std::string_view kBegin =
    "<!-- generated from src/model/families: HEADSCOPE_UPDATE_DOCS=1 build/release/tests/test_model "
    "--gtest_filter='FamilyTable.*' -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

TEST(FamilyTable, HasARowPerFamilyThatSaysWhatWorks) {
  const std::vector<FamilySupport> table = family_table();
  ASSERT_EQ(table.size(), known_families().size());
  const auto row = [&](std::string_view name) {
    return *std::ranges::find_if(table, [&](const FamilySupport& one) { return one.family->name == name; });
  };
  EXPECT_TRUE(row("llama").runs);
  EXPECT_TRUE(row("llama").gguf);
  EXPECT_TRUE(row("llama").runs_gguf);
  EXPECT_FALSE(row("longformer").runs);
  EXPECT_TRUE(row("clip_vision").runs_gguf);
  EXPECT_FALSE(row("opt").gguf);
}

// With HEADSCOPE_UPDATE_DOCS=1 in the environment it rewrites the page instead.
TEST(FamilyTable, IsThePageInTheDocumentation) {
  const std::string page = test::read(kPage);
  const std::size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos) << kPage << " has no line " << kBegin;
  const std::size_t end = page.find(kEnd, begin);
  ASSERT_NE(end, std::string::npos) << kPage << " has no line " << kEnd;
  const std::string expected =
      page.substr(0, begin + kBegin.size()) + "\n" + families_markdown() + "\n" + page.substr(end);
  if (std::getenv("HEADSCOPE_UPDATE_DOCS") != nullptr) {
    std::ofstream(kPage) << expected;
    return;
  }
  EXPECT_TRUE(page == expected) << kPage << " is stale: run this test again with HEADSCOPE_UPDATE_DOCS=1";
}

TEST(FamilyTable, NamesTheNearestFamily) {
  EXPECT_EQ(nearest_family("mistrall")->name, "mistral");
  EXPECT_EQ(nearest_family("gemma3x")->name, "gemma3");
  EXPECT_EQ(nearest_family("gptneox")->name, "gpt_neox");
  EXPECT_EQ(nearest_family("completely_different"), nullptr);
  EXPECT_EQ(nearest_family(""), nullptr);
  EXPECT_EQ(nearest_family(std::string(1'000'000, 'x')), nullptr);
}

}  // namespace
}  // namespace headscope
