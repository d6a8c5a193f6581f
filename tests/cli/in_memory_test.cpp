// Requests that keep their results in memory give what the program writes to a folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/headscope.h"
#include "headscope/io/npy.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::read;
using test::TemporaryFolder;

const std::string kModel = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";
const std::vector<std::uint32_t> kIds = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};

std::string text_of(const InMemoryFile& file) {
  if (file.table) return file.table->csv();
  return {reinterpret_cast<const char*>(file.bytes->data()), file.bytes->size()};
}

void expect_same_files(const RunFiles& files, const fs::path& run) {
  ASSERT_TRUE(files.memory);
  ASSERT_FALSE(files.memory->files.empty());
  for (const InMemoryFile& one : files.memory->files) {
    EXPECT_TRUE(text_of(one) == read(run / one.file.name)) << one.file.name;
  }
}

const InMemoryFile& file_of(const RunFiles& files, const std::string& name) {
  return *std::ranges::find(files.memory->files, name, [](const InMemoryFile& one) { return one.file.name; });
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

TEST(InMemory, GivesTheFilesOfTheProgramForAModelInMemory) {
  const TemporaryFolder folder;
  const std::string folder_of_program = (folder.path() / "run").string();
  ASSERT_EQ(test::run_program({"relate", kModel, "-o", folder_of_program}).code, 0);
  ASSERT_EQ(test::run_program({"detect", kModel, "-o", folder_of_program}).code, 0);
  const Checkpoint checkpoint = Checkpoint::open(kModel);
  std::vector<std::vector<std::byte>> storage;
  RelateRequest relate;
  relate.model.opened = in_memory(checkpoint, storage);
  expect_same_files(run(relate)->files, folder_of_program);
  DetectRequest detect;
  detect.model.opened = relate.model.opened;
  expect_same_files(run(detect)->files, folder_of_program);
}

TEST(InMemory, TakesIdsAndMaps) {
  const TemporaryFolder folder;
  CaptureRequest capture;
  capture.model.path = kModel;
  capture.inputs.in_memory = {{.ids = kIds}};
  const auto captured = run(capture);
  const std::string saved = (folder.path() / "run").string();
  save_run(*captured->files.memory, saved, false);
  ASSERT_EQ(test::run_program({"organize", saved, "-o", saved}).code, 0);

  const NpyView pattern = parse_npy(*file_of(captured->files, "pattern.npy").bytes, "pattern.npy");
  const std::vector<float> values = npy_values<float>(pattern, "pattern.npy");
  OrganizeRequest organize;
  organize.maps.source.values = values;
  organize.maps.source.shape = pattern.shape;
  organize.maps.description = text_of(file_of(captured->files, "tokens.json"));
  expect_same_files(run(organize)->files, saved);
}

TEST(InMemory, PrunesWithoutWritingAModelThatIsInMemory) {
  const TemporaryFolder folder;
  const std::string folder_of_program = (folder.path() / "run").string();
  const std::string ids = (folder.path() / "ids.npy").string();
  const std::vector<std::int64_t> tokens(kIds.begin(), kIds.end());
  write_npy<std::int64_t>(ids, tokens, Shape{tokens.size()});
  ASSERT_EQ(test::run_program({"prune", kModel, "-o", folder_of_program, "--ids", ids, "--criteria", "norm"}).code, 0);
  PruneRequest request;
  request.model.path = kModel;
  request.inputs.ids = {ids};
  request.criteria = {PruneCriterion::kNorm};
  const auto outcome = run(request);
  EXPECT_THAT(outcome->files.names, testing::Contains("pruned/model.safetensors"));
  expect_same_files(outcome->files, folder_of_program);

  const Checkpoint checkpoint = Checkpoint::open(kModel);
  std::vector<std::vector<std::byte>> storage;
  request.model.opened = in_memory(checkpoint, storage);
  EXPECT_ERROR(run(request), ErrorKind::kUnsupported, "the model is in memory, but pruning needs its files");
  request.write = "none";
  const auto unwritten = run(request);
  for (const std::string& name : unwritten->files.names) EXPECT_FALSE(name.starts_with("pruned/")) << name;
}

TEST(InMemory, RecordsTheCommandThatRepeatsTheRun) {
  RelateRequest request;
  request.model.path = kModel;
  request.top = 5;
  request.earlier_only = true;
  const auto outcome = run(request);
  EXPECT_EQ(outcome->files.memory->command.arguments,
            (std::vector<std::string>{"relate", kModel, "--top", "5", "--earlier-only"}));
}

TEST(InMemory, ReportsProgressAndStopsWhenPolled) {
  struct Enough : Cancelled {};
  RelateRequest request;
  request.model.path = kModel;
  Context context;
  double last = 0;
  context.on_progress = [&](std::string_view stage, double fraction) {
    if (stage == "comparing heads") last = std::max(last, fraction);
  };
  EXPECT_TRUE(run(request, context));
  EXPECT_GT(last, 0.5);
  context.poll = [] { throw Enough(); };
  EXPECT_THROW(static_cast<void>(run(request, context)), Enough);
  EXPECT_ERROR(run(RelateRequest{.model = {.path = "/nowhere"}}), ErrorKind::kIo, "/nowhere: no such file");
}

}  // namespace
}  // namespace headscope
