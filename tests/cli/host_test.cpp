#include "cli/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/run.h"
#include "headscope/base/error.h"
#include "headscope/io/npy.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

const std::string kModel = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Runs a command line inside this process.
void run_inside(Host& host, const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"headscope"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream err;
  Session session{.out = out, .err = err, .terminal = false, .quiet = true, .host = &host};
  run_or_throw(static_cast<int>(argv.size()), argv.data(), session);
}

void expect_same_files(const InMemoryRun& held, const fs::path& run) {
  ASSERT_FALSE(held.files.empty());
  for (const InMemoryFile& one : held.files) {
    const std::string text(reinterpret_cast<const char*>(one.bytes->data()), one.bytes->size());
    EXPECT_TRUE(text == read(run / one.file.name)) << one.file.name;
  }
}

// The tensors of a checkpoint as a running program would hold them.
std::shared_ptr<const Model> in_memory(const Checkpoint& checkpoint, std::vector<std::vector<std::byte>>& storage) {
  std::vector<StoredTensor> tensors;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    storage.emplace_back(tensor->bytes.begin(), tensor->bytes.end());
    tensors.push_back({tensor->name, tensor->dtype, tensor->shape, storage.back()});
  }
  return std::make_shared<const Model>(Model::from_checkpoint(
      Checkpoint::from_memory(kModel, std::move(tensors), read(fs::path(kModel) / "config.json"))));
}

TEST(Host, GetsTheFilesOfTheProgramInMemoryFromAModelInMemory) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  ASSERT_EQ(test::run_program({"relate", kModel, "-o", run}).code, 0);
  ASSERT_EQ(test::run_program({"detect", kModel, "-o", run}).code, 0);
  const Checkpoint checkpoint = Checkpoint::open(kModel);
  std::vector<std::vector<std::byte>> storage;
  for (const char* command : {"relate", "detect"}) {
    InMemoryRun held;
    Host host;
    host.model = in_memory(checkpoint, storage);
    host.held = &held;
    run_inside(host, {command, "anything", "-o", "anything"});
    EXPECT_EQ(held.command.name, command);
    expect_same_files(held, run);
  }
  EXPECT_FALSE(fs::exists("anything"));
}

TEST(Host, GivesItsOwnIdsAndMaps) {
  const TemporaryFolder folder;
  InMemoryRun captured;
  Host host;
  host.held = &captured;
  host.inputs["ids"] = {{.ids = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}}};
  run_inside(host, {"capture", kModel, "-o", "memory", "--ids", "ids"});
  save_run(captured, folder.path() / "run", false);
  const std::string run = (folder.path() / "run").string();
  ASSERT_EQ(test::run_program({"organize", run, "-o", run}).code, 0);

  Host second;
  InMemoryRun organized;
  second.held = &organized;
  const auto file = [&](const char* name) -> const InMemoryFile& {
    return *std::ranges::find(captured.files, name, [](const InMemoryFile& one) { return one.file.name; });
  };
  const NpyView pattern = parse_npy(*file("pattern.npy").bytes, "pattern.npy");
  const std::vector<float> values = npy_values<float>(pattern, "pattern.npy");
  const auto& tokens = *file("tokens.json").bytes;
  second.arrays["maps"] = {values, pattern.shape, {reinterpret_cast<const char*>(tokens.data()), tokens.size()}};
  run_inside(second, {"organize", "maps", "-o", "memory"});
  expect_same_files(organized, run);
}

TEST(Host, PrunesIntoMemoryAndAModelInMemoryOnlyInThought) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string ids = (folder.path() / "ids.npy").string();
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
  write_npy<std::int64_t>(ids, tokens, Shape{tokens.size()});
  const std::vector<std::string> words = {"prune", kModel, "-o", run, "--ids", ids, "--criteria", "norm"};
  ASSERT_EQ(test::run_program(words).code, 0);
  InMemoryRun held;
  Host host;
  host.held = &held;
  run_inside(host, words);
  EXPECT_EQ(held.command.arguments, words);
  EXPECT_EQ(
      std::ranges::count(held.files, "pruned/model.safetensors", [](const InMemoryFile& one) { return one.file.name; }),
      1);
  expect_same_files(held, run);

  const Checkpoint checkpoint = Checkpoint::open(kModel);
  std::vector<std::vector<std::byte>> storage;
  InMemoryRun thought;
  Host second;
  second.held = &thought;
  second.model = in_memory(checkpoint, storage);
  EXPECT_ERROR(run_inside(second, words), ErrorKind::kUnsupported,
               "is in memory, and a pruned model is a copy of files");
  std::vector<std::string> without = words;
  without.insert(without.end(), {"--write", "none"});
  run_inside(second, without);
  for (const InMemoryFile& one : thought.files) EXPECT_FALSE(one.file.name.starts_with("pruned/")) << one.file.name;
}

TEST(Host, HearsOfErrorsAsTheProgramSaysThemAndOfProgress) {
  Host host;
  InMemoryRun held;
  host.held = &held;
  EXPECT_ERROR(run_inside(host, {"relate", kModel, "-o", "memory", "--pairs", "XY"}), ErrorKind::kInvalidArgument,
               "--pairs: 'XY' is not a pair of Q, K, V, O");
  EXPECT_ERROR(run_inside(host, {"relate", kModel, "-o", "memory", "--nonsense"}), ErrorKind::kInvalidArgument,
               "'headscope --help' shows the commands");
  EXPECT_ERROR(run_inside(host, {"relate", "/nowhere", "-o", "memory"}), ErrorKind::kIo, "/nowhere: no such file");
  EXPECT_TRUE(held.files.empty());
  double last = 0;
  host.watch = [&](std::string_view, double share) { last = std::max(last, share); };
  run_inside(host, {"relate", kModel, "-o", "memory"});
  EXPECT_GT(last, 0.5);
}

TEST(Host, StopsACommandAndSignalsStayItsOwn) {
  struct Enough {};
  Host host;
  InMemoryRun held;
  host.held = &held;
  {
    const HostInterrupts interrupts([] { throw Enough(); });
    EXPECT_THROW(run_inside(host, {"detect", kModel, "-o", "memory"}), Enough);
  }
  EXPECT_TRUE(held.files.empty());
  run_inside(host, {"detect", kModel, "-o", "memory"});
  EXPECT_FALSE(held.files.empty());
}

}  // namespace
}  // namespace headscope::cli
