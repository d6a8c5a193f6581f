#include "headscope/relate/finished_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::read;

namespace fs = std::filesystem;

const BlockId kBlock = {Metric::kPk, Role::kO, Role::kQ, 3, 5};
const SideId kSide = {Metric::kPk, Role::kO, false, 3};

Matrix numbers(std::size_t rows, std::size_t columns) {
  Matrix matrix(rows, columns);
  for (std::size_t i = 0; i < matrix.values().size(); ++i) matrix.values()[i] = static_cast<float>(i) + 0.5F;
  return matrix;
}

std::vector<fs::path> files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) found.push_back(entry.path());
  }
  return found;
}

class FinishedBlocksTest : public testing::Test {
 protected:
  // Writes one block and one description, under the key "a".
  void keep_some() const {
    FinishedWork work(folder_.path(), "relate", "a", 0, 0);
    FinishedBlocks finished(work);
    const Matrix block = numbers(2, 3);
    finished.keep(kSide, std::vector<GramMoments>{{1, 2, 7}, {3, 4, 8}}, std::vector<std::size_t>{5, 6});
    finished.keep(kBlock, block.view());
  }
  [[nodiscard]] bool has_block(const std::string& key = "a") const {
    FinishedWork work(folder_.path(), "relate", key);
    FinishedBlocks finished(work);
    Matrix out(2, 3);
    return finished.restore(kBlock, out.span());
  }

  const test::TemporaryFolder folder_;
};

TEST_F(FinishedBlocksTest, ALaterRunFindsWhatAnEarlierOneKept) {
  keep_some();
  FinishedWork work(folder_.path(), "relate", "a", 7);
  FinishedBlocks finished(work);
  EXPECT_TRUE(work.is_on_disk());
  Matrix out(4, 5);  // a block of a larger matrix
  ASSERT_TRUE(finished.restore(kBlock, out.span().block(1, 2, 2, 3)));
  EXPECT_EQ(out(1, 2), 0.5F);
  EXPECT_EQ(out(2, 4), 5.5F);
  EXPECT_EQ(out(0, 0), 0);
  std::vector<GramMoments> moments(2);
  std::vector<std::size_t> ranks(2);
  ASSERT_TRUE(finished.restore(kSide, moments, ranks));
  EXPECT_EQ(moments[1].trace_of_square, 4);
  EXPECT_EQ(moments[1].trace_of_cube, 8);
  EXPECT_EQ(ranks, (std::vector<std::size_t>{5, 6}));
  EXPECT_EQ(finished.restored(), 1U);
}

TEST_F(FinishedBlocksTest, OtherBlocksKeysAndShapesAreNotThere) {
  keep_some();
  EXPECT_TRUE(has_block());
  EXPECT_FALSE(has_block("b"));
  FinishedWork work(folder_.path(), "relate", "a");
  FinishedBlocks finished(work);
  Matrix out(2, 4);
  BlockId other = kBlock;
  other.target_layer = 4;
  EXPECT_FALSE(finished.restore(other, out.span().block(0, 2, 0, 3)));
  EXPECT_FALSE(finished.restore(kBlock, out.span()));
  std::vector<std::size_t> three(3);
  EXPECT_FALSE(finished.restore(kSide, {}, three));
  EXPECT_EQ(finished.restored(), 0U);
}

// The folder is named after a hash of the key; what it holds says the whole key.
TEST_F(FinishedBlocksTest, AFileUnderTheWrongKeyIsNotTrusted) {
  keep_some();
  const fs::path file = files(folder_.path()).front();
  {
    FinishedWork work_of_other(folder_.path(), "relate", "b", 0, 0);
    FinishedBlocks other(work_of_other);
    other.keep(kBlock, numbers(2, 3).view());
  }
  for (const fs::path& path : files(folder_.path())) {
    if (path != file) fs::copy_file(file, path, fs::copy_options::overwrite_existing);
  }
  EXPECT_FALSE(has_block("b"));
}

TEST_F(FinishedBlocksTest, ADamagedFileIsNotTrustedWhereverItIsDamaged) {
  keep_some();
  const fs::path file = files(folder_.path()).front();
  const std::string whole = read(file);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(has_block()) << "byte " << i;
    std::ofstream(file, std::ios::binary) << whole.substr(0, i);
    EXPECT_FALSE(has_block()) << "cut at " << i;
  }
  std::ofstream(file, std::ios::binary) << whole;
  EXPECT_TRUE(has_block());
}

TEST_F(FinishedBlocksTest, AShortRunWritesNothing) {
  FinishedWork work(folder_.path(), "relate", "a", 0, 1000);
  FinishedBlocks finished(work);
  finished.keep(kBlock, numbers(2, 3).view());
  work.save();
  EXPECT_FALSE(work.is_on_disk());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(FinishedBlocksTest, WhereNothingCanBeWrittenTheRunGoesOn) {
  const fs::path file = folder_.write("file", "not a folder");
  FinishedWork work(file, "relate", "a", 0, 0);
  FinishedBlocks finished(work);
  finished.keep(kBlock, numbers(2, 3).view());
  finished.keep(kBlock, numbers(2, 3).view());
  EXPECT_FALSE(work.is_on_disk());
}

TEST_F(FinishedBlocksTest, RemoveTakesAwayWhatIsOursAndNothingElse) {
  keep_some();
  FinishedWork::remove(folder_.path() / "absent", "relate");
  const fs::path mine = folder_.write("unfinished/notes.txt", "mine");
  FinishedWork::remove(folder_.path(), "relate");
  EXPECT_EQ(files(folder_.path()), std::vector<fs::path>{mine});
  fs::remove(mine);
  keep_some();
  FinishedWork::remove(folder_.path(), "relate");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(FinishedBlocksTest, NothingIsRemovedOrWrittenThroughALink) {
  const fs::path precious = folder_.write("elsewhere/relate-1/precious.blocks", "keep");
  fs::create_directories(folder_.path() / "run");
  fs::create_directory_symlink(folder_.path() / "elsewhere", folder_.path() / "run/unfinished");
  FinishedWork work(folder_.path() / "run", "relate", "a", 0, 0);
  FinishedBlocks finished(work);
  finished.keep(kBlock, numbers(2, 3).view());
  EXPECT_FALSE(work.is_on_disk());
  FinishedWork::remove(folder_.path() / "run", "relate");
  EXPECT_EQ(read(precious), "keep");
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "run/unfinished"));
  EXPECT_EQ(files(folder_.path() / "elsewhere"), std::vector<fs::path>{precious});
}

}  // namespace
}  // namespace headscope
