#include "headscope/io/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "headscope/io/npy.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t count_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    count += entry.is_regular_file() ? 1 : 0;
  return count;
}

RunCommand command(const std::string& name, const std::string& model) {
  return {name, {name, model}, {{"model", model}}, {{"threads", "2"}}};
}

TEST(RunFolder, WritesFilesAndTellsWhatTheyAre) {
  const TemporaryFolder folder;
  RunFolder run(folder.path() / "run", command("relate", "a"), false);
  run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges.", .shape = {2, 3}}, "x\n");
  run.add_array({.name = "affinity/pk_OQ.npy", .kind = "array", .about = "PK.", .shape = {1, 2}, .axes = {"s", "t"}},
                std::vector<float>{1, 2});
  run.commit();
  EXPECT_EQ(read(run.path() / "edges.csv"), "x\n");
  EXPECT_EQ(NpyFile::open(run.path() / "affinity/pk_OQ.npy").array().shape, (Shape{1, 2}));
  const auto manifest = nlohmann::json::parse(read(run.path() / "manifest.json"));
  EXPECT_EQ(manifest["files"]["edges.csv"]["about"], "Edges.");
  EXPECT_EQ(manifest["files"]["affinity/pk_OQ.npy"]["dtype"], "float32");
  EXPECT_EQ(manifest["commands"]["relate"]["identity"]["model"], "a");
}

TEST(RunFolder, LeavesNothingBehindWithoutACommit) {
  const TemporaryFolder folder;
  {
    RunFolder run(folder.path(), command("relate", "a"), false);
    run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges."}, "x\n");
  }
  EXPECT_EQ(count_files(folder.path()), 0u);
}

TEST(RunFolder, KeepsWhatOtherCommandsWroteAndLetsACommandRunAgain) {
  const TemporaryFolder folder;
  for (const char* name : {"relate", "detect", "relate"}) {
    RunFolder run(folder.path(), command(name, "a"), false);
    run.add_text({.name = std::string(name) + ".csv", .kind = "table", .about = "A table."}, "x\n");
    run.commit();
  }
  const auto manifest = nlohmann::json::parse(read(folder.path() / "manifest.json"));
  EXPECT_EQ(manifest["files"].size(), 2u);
  EXPECT_EQ(manifest["commands"].size(), 2u);
}

TEST(RunFolder, RefusesADifferentResultWithoutForce) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& model, bool force) {
    RunFolder run(folder.path(), command(name, model), force);
    run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges."}, model);
    run.commit();
  };
  write("relate", "a", false);
  EXPECT_ERROR(write("relate", "b", false), ErrorKind::kInvalidArgument, "model was \"a\", now \"b\"");
  EXPECT_ERROR(write("detect", "a", false), ErrorKind::kInvalidArgument, "edges.csv: was written by");
  EXPECT_EQ(read(folder.path() / "edges.csv"), "a");
  write("relate", "b", true);
  EXPECT_EQ(read(folder.path() / "edges.csv"), "b");
}

TEST(RunFolder, RefusesAManifestThatIsNotOne) {
  const TemporaryFolder folder;
  for (const char* text : {"[]", "{", "{\"files\": 3, \"commands\": {}}", "{}"}) {
    folder.write("manifest.json", text);
    EXPECT_ERROR(RunFolder(folder.path(), command("relate", "a"), false), ErrorKind::kFormat, "manifest.json: ");
  }
}

TEST(RunFolder, RefusesAFolderItCannotMake) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  EXPECT_ERROR(RunFolder(folder.path() / "file" / "run", command("relate", "a"), false), ErrorKind::kIo,
               "cannot make the folder");
}


void fill(RunFolder& run) {
  run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges.", .shape = {2, 3}}, "x\n");
  RunArray maps = run.add_array({.name = "maps/a.npy", .kind = "array", .about = "Maps.", .shape = {2, 3}}, RunFloat::kF32);
  maps.write(3, std::vector<float>{4, 5, 6});
  maps.write(0, std::vector<float>{1, 2, 3});
  DoubleMatrix matrix(2, 2);
  matrix(1, 0) = 5;
  const std::vector<std::pair<std::string, const DoubleMatrix*>> matrices = {{"m", &matrix}};
  run.add_matrices({.name = "both.npz", .kind = "arrays", .about = "Matrices."}, matrices);
  run.commit();
}

TEST(RunFolder, InMemoryHoldsWhatWouldBeOnDiskAndCanBeSavedThere) {
  const TemporaryFolder folder;
  RunFolder on_disk(folder.path() / "disk", command("relate", "a"), false);
  fill(on_disk);
  HeldRun held;
  RunFolder in_memory(command("relate", "a"), held);
  fill(in_memory);
  ASSERT_EQ(held.files.size(), 3u);
  for (const HeldFile& one : held.files) {
    const std::string text(reinterpret_cast<const char*>(one.bytes->data()), one.bytes->size());
    EXPECT_EQ(text, read(folder.path() / "disk" / one.file.name)) << one.file.name;
  }
  save_run(held, folder.path() / "saved", false);
  for (const char* name : {"edges.csv", "maps/a.npy", "both.npz", "manifest.json"}) {
    EXPECT_EQ(read(folder.path() / "saved" / name), read(folder.path() / "disk" / name)) << name;
  }
}

TEST(RunFolder, InMemoryWithoutACommitHoldsNothing) {
  HeldRun held;
  {
    RunFolder run(command("relate", "a"), held);
    run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges."}, "x\n");
  }
  EXPECT_TRUE(held.files.empty());
}

}  // namespace
}  // namespace headscope
