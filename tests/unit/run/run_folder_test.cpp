#include "headscope/run/run_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "headscope/base/parallel.h"
#include "headscope/io/npy.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::read;
using test::TemporaryFolder;

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
  EXPECT_ERROR(write("relate", "b", false), ErrorKind::kInvalidArgument,
               "holds the result of another 'relate' (the model changed)");
  EXPECT_ERROR(write("detect", "a", false), ErrorKind::kInvalidArgument, "edges.csv: was written by");
  EXPECT_EQ(read(folder.path() / "edges.csv"), "a");
  write("relate", "b", true);
  EXPECT_EQ(read(folder.path() / "edges.csv"), "b");
}

TEST(RunFolder, RefusesToMixModelsWithoutForce) {
  const TemporaryFolder folder;
  const auto write = [&](RunCommand of, bool force) {
    RunFolder run(folder.path(), of, force);
    run.add_text({.name = of.name + ".csv", .kind = "table", .about = "A table."}, "x\n");
    run.commit();
  };
  RunCommand relate = command("relate", "a");
  relate.origins["model"] = {{"models/first", "a"}};
  write(relate, false);
  EXPECT_ERROR(write(command("detect", "b"), false), ErrorKind::kInvalidArgument,
               "holds the result of 'relate' on another model, models/first; choose another folder");
  RunCommand organize = command("organize", "");
  organize.identity.clear();
  write(organize, false);  // knows of no model
  write(command("detect", "a"), false);
  write(command("patch", "b"), true);
}

TEST(RunFolder, RefusesAManifestThatIsNotOne) {
  const TemporaryFolder folder;
  for (const char* text : {"[]", "{", "{\"files\": 3, \"commands\": {}}", "{}"}) {
    folder.write("manifest.json", text);
    EXPECT_ERROR(RunFolder(folder.path(), command("relate", "a"), false), ErrorKind::kFormat, "manifest.json: ");
  }
}

TEST(RunFolder, TakesAManifestWhoseEntriesAreNotOnes) {
  const TemporaryFolder folder;
  folder.write("manifest.json", R"({"files": {"a.csv": 3, "b.csv": {"command": 4}}, "commands": {"relate": []}})");
  RunFolder run(folder.path(), command("relate", "a"), true);
  run.add_text({.name = "a.csv", .kind = "table", .about = "A."}, "x");
  run.commit();
  folder.write("manifest.json", R"({"files": {"a.csv": 3}, "commands": {"detect": []}})");
  EXPECT_ERROR(RunFolder(folder.path(), command("detect", "a"), false), ErrorKind::kInvalidArgument,
               "holds the result of another 'detect' (the model changed)");
  RunFolder other(folder.path(), command("relate", "a"), false);
  EXPECT_ERROR(other.add_text({.name = "a.csv", .kind = "table", .about = "A."}, "y"), ErrorKind::kInvalidArgument,
               "a.csv: was written by ''");
}

TEST(RunFolder, LeavesNoFoldersBehindEither) {
  const TemporaryFolder folder;
  folder.write("run/inputs/0/kept", "x");
  {
    RunFolder run(folder.path() / "run", command("capture", "a"), false);
    run.add_text({.name = "inputs/1/tokens.json", .kind = "tokens", .about = "Tokens."}, "x\n");
    RunFolder made(folder.path() / "new/deep", command("capture", "a"), false);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run/inputs/0/kept"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run/inputs/1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
}

std::vector<float> floats(const std::filesystem::path& path) {
  return npy_values<float>(NpyFile::open(path).array(), path.string());
}

TEST(RunFolder, TakesArraysPieceByPieceInAnyOrderFromSeveralThreads) {
  const TemporaryFolder folder;
  constexpr std::size_t kRows = 200;
  constexpr std::size_t kColumns = 7;
  RunFolder run(folder.path(), command("capture", "a"), false);
  RunArray array = run.add_array(
      {.name = "maps/x.npy", .kind = "array", .about = "X.", .shape = {kRows, kColumns}, .axes = {"r", "c"}},
      RunFloat::kF32);
  RunArray zeros = run.add_array({.name = "zeros.npy", .kind = "array", .about = "0.", .shape = {3}}, RunFloat::kF32);
  static_cast<void>(
      run.add_array({.name = "none.npy", .kind = "array", .about = "0.", .shape = {0, 4}}, RunFloat::kF32));
  set_thread_count(4);
  parallel_for(kRows, [&](std::size_t i) {
    const std::size_t row = (i * 37) % kRows;
    std::vector<float> values(kColumns);
    for (std::size_t j = 0; j < kColumns; ++j) values[j] = static_cast<float>(row * kColumns + j);
    array.write(row * kColumns, values);
  });
  set_thread_count(0);
  zeros.write(1, std::vector<float>{5});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "maps/x.npy"));
  run.commit();
  const std::vector<float> found = floats(folder.path() / "maps/x.npy");
  ASSERT_EQ(found.size(), kRows * kColumns);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<float>(i));
  EXPECT_EQ(floats(folder.path() / "zeros.npy"), (std::vector<float>{0, 5, 0}));
  EXPECT_EQ(NpyFile::open(folder.path() / "none.npy").array().shape, (Shape{0, 4}));
}

TEST(RunFolder, SaysWhatHalvesAre) {
  const TemporaryFolder folder;
  RunFolder run(folder.path(), command("capture", "a"), false);
  RunArray array = run.add_array({.name = "h.npy", .kind = "array", .about = "H.", .shape = {2}}, RunFloat::kF16);
  array.write(0, std::vector<unsigned short>{0x3C00, 0xC000});
  run.commit();
  EXPECT_EQ(NpyFile::open(folder.path() / "h.npy").array().type.size, 2u);
  EXPECT_EQ(floats(folder.path() / "h.npy"), (std::vector<float>{1, -2}));
  EXPECT_EQ(nlohmann::json::parse(read(folder.path() / "manifest.json"))["files"]["h.npy"]["dtype"], "float16");
}

// Every input of a capture has files of its own, and a process may hold open 1,024 by default.
TEST(RunFolder, HoldsMoreFilesThanMayBeOpen) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 64;
  const TemporaryFolder folder;
  RunFolder run(folder.path(), command("capture", "a"), false);
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<RunArray> arrays;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::string name = "inputs/" + std::to_string(i);
    run.add_text({.name = name + "/tokens.json", .kind = "tokens", .about = "T."}, name);
    arrays.push_back(
        run.add_array({.name = name + "/x.npy", .kind = "array", .about = "X.", .shape = {2}}, RunFloat::kF32));
  }
  for (std::size_t i = 0; i < 100; ++i) arrays[i].write(1, std::vector<float>{static_cast<float>(i)});
  run.commit();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(floats(folder.path() / "inputs/99/x.npy"), (std::vector<float>{0, 99}));
  EXPECT_EQ(read(folder.path() / "inputs/7/tokens.json"), "inputs/7");
}

void write_files(const std::filesystem::path& path, const std::string& name, const std::vector<std::string>& files) {
  RunFolder run(path, command(name, "a"), true);
  for (const std::string& file : files) run.add_text({.name = file, .kind = "table", .about = "A table."}, file);
  run.commit();
}

TEST(RunFolder, RemovesWhatTheSameCommandDoesNotWriteAgain) {
  const TemporaryFolder folder;
  write_files(folder.path(), "capture", {"a.csv", "inputs/1/b.csv", "inputs/2/c.csv"});
  write_files(folder.path(), "relate", {"edges.csv"});
  folder.write("inputs/2/notes.txt", "mine");
  write_files(folder.path(), "capture", {"a.csv"});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "edges.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "inputs/1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "inputs/2/c.csv"));
  EXPECT_EQ(read(folder.path() / "inputs/2/notes.txt"), "mine");
  const auto manifest = nlohmann::json::parse(read(folder.path() / "manifest.json"));
  EXPECT_EQ(manifest["files"].size(), 2u);
}

TEST(RunFolder, RemovesNothingOutsideWhateverAManifestSays) {
  const TemporaryFolder folder;
  const auto outside = folder.write("outside/precious.txt", "keep");
  const std::filesystem::path run = folder.path() / "run";
  write_files(run, "capture", {"a.csv"});
  std::filesystem::create_directory_symlink(folder.path() / "outside", run / "link");
  std::filesystem::create_directories(run / "sub");
  nlohmann::json manifest = nlohmann::json::parse(read(run / "manifest.json"));
  for (const std::string& name :
       {outside.string(), std::string("../outside/precious.txt"), std::string("sub/../../outside/precious.txt"),
        std::string("link/precious.txt"), std::string("manifest.json"), std::string("."), std::string(""),
        std::string("sub/."), std::string("./manifest.json")}) {
    manifest["files"][name] = {{"command", "capture"}};
  }
  std::ofstream(run / "manifest.json") << manifest;
  write_files(run, "capture", {"a.csv"});
  EXPECT_EQ(read(outside), "keep");
  EXPECT_TRUE(std::filesystem::exists(run / "manifest.json"));
  EXPECT_TRUE(std::filesystem::exists(run / "sub"));
  EXPECT_TRUE(std::filesystem::exists(run / "a.csv"));
}

TEST(RunFolder, WritesNothingThroughALinkInIt) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "victim");
  std::filesystem::create_directories(folder.path() / "run");
  std::filesystem::create_directory_symlink("../victim", folder.path() / "run/affinity");
  EXPECT_ERROR(write_files(folder.path() / "run", "relate", {"affinity/a.npy", "b.csv"}), ErrorKind::kIo,
               "affinity: cannot create the folder: is or goes through a link that leads out of the folder");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "victim"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run/b.csv"));
}

TEST(RunFolder, DoesNotReplaceAFileThatNoCommandWrote) {
  const TemporaryFolder folder;
  folder.write("edges.csv", "mine");
  RunFolder run(folder.path(), command("relate", "a"), false);
  EXPECT_ERROR(run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges."}, "x"),
               ErrorKind::kInvalidArgument, "edges.csv: exists, but manifest.json does not list it");
  EXPECT_EQ(read(folder.path() / "edges.csv"), "mine");
}

// A run through a link to its folder is the user's own doing.
TEST(RunFolder, MayItselfBeALink) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "real");
  std::filesystem::create_directory_symlink(folder.path() / "real", folder.path() / "run");
  write_files(folder.path() / "run", "capture", {"a.csv", "b.csv"});
  write_files(folder.path() / "run", "capture", {"a.csv"});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "real/b.csv"));
}

TEST(RunFolder, AFullDiskLeavesNothing) {
  const TemporaryFolder folder;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 10000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  {
    RunFolder run(folder.path(), command("capture", "a"), false);
    RunArray fits = run.add_array({.name = "a.npy", .kind = "array", .about = "A.", .shape = {1000}}, RunFloat::kF32);
    EXPECT_ERROR(fits.write(2000, std::vector<float>(1000)), ErrorKind::kResource, "a.npy: cannot write");
    EXPECT_ERROR(static_cast<void>(
                     run.add_array({.name = "b.npy", .kind = "array", .about = "B.", .shape = {5000}}, RunFloat::kF32)),
                 ErrorKind::kResource, "b.npy: cannot write");
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(count_files(folder.path()), 0u);
}

TEST(RunFolder, RefusesAFolderItCannotMake) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  EXPECT_ERROR(RunFolder(folder.path() / "file" / "run", command("relate", "a"), false), ErrorKind::kIo,
               "cannot create the folder");
}

void fill(RunFolder& run) {
  run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges.", .shape = {2, 3}}, "x\n");
  RunArray maps =
      run.add_array({.name = "maps/a.npy", .kind = "array", .about = "Maps.", .shape = {2, 3}}, RunFloat::kF32);
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
  InMemoryRun held;
  RunFolder in_memory(command("relate", "a"), held);
  fill(in_memory);
  ASSERT_EQ(held.files.size(), 3u);
  for (const InMemoryFile& one : held.files) {
    const std::string text(reinterpret_cast<const char*>(one.bytes->data()), one.bytes->size());
    EXPECT_EQ(text, read(folder.path() / "disk" / one.file.name)) << one.file.name;
  }
  save_run(held, folder.path() / "saved", false);
  for (const char* name : {"edges.csv", "maps/a.npy", "both.npz", "manifest.json"}) {
    EXPECT_EQ(read(folder.path() / "saved" / name), read(folder.path() / "disk" / name)) << name;
  }
}

TEST(RunFolder, InMemoryWithoutACommitHoldsNothing) {
  InMemoryRun held;
  {
    RunFolder run(command("relate", "a"), held);
    run.add_text({.name = "edges.csv", .kind = "table", .about = "Edges."}, "x\n");
  }
  EXPECT_TRUE(held.files.empty());
}

}  // namespace
}  // namespace headscope
