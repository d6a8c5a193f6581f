#include "headscope/io/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::SafetensorsWriter;
using test::TemporaryFolder;

const std::string kOne = SafetensorsWriter().add("b", {2}).add("a", {1}).str();
const std::string kTwo = SafetensorsWriter().add("c", {3}).str();

// A GGUF file without tensors that says it is part of `count` files.
std::string gguf_part(std::uint16_t count) {
  const std::string_view key = "split.count";
  return test::Bytes()
      .add_text("GGUF")
      .add<std::uint32_t>(3)
      .add<std::uint64_t>(0)
      .add<std::uint64_t>(1)
      .add<std::uint64_t>(key.size())
      .add_text(key)
      .add<std::uint32_t>(2)
      .add<std::uint16_t>(count)
      .pad_to(32)
      .str();
}

TEST(Checkpoint, FindsTensorsByName) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gpt2"})");
  folder.write("model.safetensors", kOne);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_FALSE(checkpoint.is_gguf());
  EXPECT_EQ(checkpoint.config().find("model_type").as_string(), "gpt2");
  ASSERT_NE(checkpoint.find("a"), nullptr);
  EXPECT_EQ(checkpoint.find("a")->shape, Shape{1});
  EXPECT_EQ(checkpoint.find("absent"), nullptr);
  EXPECT_EQ(checkpoint.file_of(*checkpoint.find("b")), folder.path() / "model.safetensors");
}

TEST(Checkpoint, FollowsTheIndexOfAShardedModel) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}})");
  folder.write("one.safetensors", kOne);
  folder.write("two.safetensors", kTwo);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.file_count(), 2u);
  EXPECT_EQ(checkpoint.tensors().size(), 3u);
  EXPECT_EQ(checkpoint.file_of(*checkpoint.find("c")), folder.path() / "two.safetensors");
}

TEST(Checkpoint, TakesTheOnlySafetensorsFileWhateverItsName) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("pytorch_model.bin", "PK");
  folder.write("weights.safetensors", kOne);
  EXPECT_EQ(Checkpoint::open(folder.path()).tensors().size(), 2u);
}

TEST(Checkpoint, TakesAllPartsWhereTheIndexIsMissing) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model-00001-of-00002.safetensors", kOne);
  folder.write("model-00002-of-00002.safetensors", kTwo);
  EXPECT_EQ(Checkpoint::open(folder.path()).tensors().size(), 3u);
}

TEST(Checkpoint, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_ERROR(Checkpoint::open(folder.path() / "absent"), ErrorKind::kIo, "absent: no such file or folder");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo, "holds no safetensors file");
  folder.write("model.safetensors", kOne);
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo, "has no config.json");
  folder.write("config.json", "[]");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kFormat, "config.json: is not a JSON object");
}

TEST(Checkpoint, SaysWhatKeepsAFileFromBeingLookedAt) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_ERROR(Checkpoint::open(folder.path() / "loop"), ErrorKind::kIo, "loop: cannot look at it: ");
}

TEST(Checkpoint, PrefersAWholeFileToAnIndex) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", kOne);
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "gone.safetensors"}})");
  EXPECT_EQ(Checkpoint::open(folder.path()).tensors().size(), 2u);
}

TEST(Checkpoint, RefusesPickleAndSaysHowToConvert) {
  const TemporaryFolder folder;
  const auto file = folder.write("pytorch_model.bin", "PK");
  EXPECT_ERROR(Checkpoint::open(file), ErrorKind::kUnsupported, "pickle files are never opened");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported, "save_pretrained(NEW_FOLDER");
}

TEST(Checkpoint, SaysWhatToPassInstead) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  const auto file = folder.write("a/model.safetensors", kOne);
  EXPECT_ERROR(Checkpoint::open(file), ErrorKind::kUnsupported, "pass the folder that holds it");
  EXPECT_ERROR(Checkpoint::open(folder.write("a/notes.txt", "hello")), ErrorKind::kUnsupported, "is not a model");
  folder.write("model.gguf", "GGUF");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported, "model.gguf: pass that file");
}

TEST(Checkpoint, RefusesAnIndexThatContradictsTheShards) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("one.safetensors", kOne);
  const auto with_index = [&](std::string_view index) {
    folder.write("model.safetensors.index.json", index);
    return Checkpoint::open(folder.path());
  };
  EXPECT_ERROR(with_index("{}"), ErrorKind::kFormat, "has no 'weight_map' object");
  EXPECT_ERROR(with_index(R"({"weight_map": {"a": "gone.safetensors"}})"), ErrorKind::kIo,
               "shard 'gone.safetensors' is missing");
  EXPECT_ERROR(with_index(R"({"weight_map": {"z": "one.safetensors"}})"), ErrorKind::kFormat, "has no tensor 'z'");
  for (const char* escape : {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ""}) {
    EXPECT_ERROR(with_index(R"({"weight_map": {"a": ")" + std::string(escape) + "\"}}"), ErrorKind::kFormat,
                 "is not a plain file name");
  }
  EXPECT_ERROR(with_index(R"({"weight_map": {"a": 3}})"), ErrorKind::kFormat, "is not a plain file name");
}

TEST(Checkpoint, RefusesATensorThatIsInTwoFiles) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model-00001-of-00002.safetensors", kTwo);
  folder.write("model-00002-of-00002.safetensors", kTwo);
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kFormat, "tensor 'c' is in two files");
}

TEST(Checkpoint, RefusesToGuessBetweenUnrelatedFiles) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("adapter.safetensors", kOne);
  folder.write("weights.safetensors", kTwo);
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kFormat, "holds 2 safetensors files");
}

TEST(Checkpoint, OpensEveryPartOfASplitGguf) {
  const TemporaryFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", gguf_part(2));
  EXPECT_ERROR(Checkpoint::open(first), ErrorKind::kIo, "m-00002-of-00002.gguf: part 2 of 2 is missing");
  const auto second = folder.write("m-00002-of-00002.gguf", gguf_part(2));
  EXPECT_EQ(Checkpoint::open(first).file_count(), 2u);
  EXPECT_ERROR(Checkpoint::open(second), ErrorKind::kFormat, "pass the first part");
}

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

StoredTensor tensor(const std::string& name, const Shape& shape) {
  return {.name = name, .dtype = DType::kF32, .shape = shape, .bytes = std::as_bytes(std::span(kValues))};
}

TEST(Checkpoint, ReadsTensorsInMemoryWhereTheyAre) {
  const Checkpoint checkpoint =
      Checkpoint::from_memory("running", {tensor("b", {2, 3}), tensor("a", {6})}, R"({"model_type": "gpt2"})");
  EXPECT_TRUE(checkpoint.in_memory());
  EXPECT_FALSE(checkpoint.is_gguf());
  EXPECT_EQ(checkpoint.config().find("model_type").as_string(), "gpt2");
  EXPECT_EQ(checkpoint.tensors().front()->name, "a");
  ASSERT_NE(checkpoint.find("b"), nullptr);
  EXPECT_EQ(static_cast<const void*>(checkpoint.find("b")->bytes.data()), kValues.data());
  EXPECT_EQ(checkpoint.file_of(*checkpoint.find("b")), "running");
}

TEST(Checkpoint, RefusesMemoryThatContradictsItself) {
  EXPECT_ERROR(Checkpoint::from_memory("running", {tensor("a", {7})}, "{}"), ErrorKind::kInvalidArgument,
               "running: tensor 'a' has 24 bytes, which do not fit F32 of [7]");
  EXPECT_ERROR(Checkpoint::from_memory("running", {tensor("a", {std::size_t{1} << 62, 8})}, "{}"),
               ErrorKind::kInvalidArgument, "do not fit");
  EXPECT_ERROR(Checkpoint::from_memory("running", {tensor("a", {6}), tensor("a", {6})}, "{}"), ErrorKind::kFormat,
               "running: tensor 'a' is there twice");
  EXPECT_ERROR(Checkpoint::from_memory("running", {}, "[]"), ErrorKind::kFormat, "config.json: is not a JSON object");
  EXPECT_ERROR(Checkpoint::from_memory("running", {}, "{"), ErrorKind::kFormat, "running/config.json");
}

// Pages of a file come back when they are touched; memory given to the system comes back as zeros.
TEST(Checkpoint, ReleasingATensorInMemoryKeepsItsValues) {
  const std::vector<float> large(std::size_t{1} << 20, 7.0F);
  const StoredTensor stored{
      .name = "a", .dtype = DType::kF32, .shape = {large.size()}, .bytes = std::as_bytes(std::span(large))};
  const Checkpoint checkpoint = Checkpoint::from_memory("running", {stored}, "{}");
  checkpoint.release(*checkpoint.find("a"));
  EXPECT_EQ(std::count(large.begin(), large.end(), 7.0F), static_cast<std::ptrdiff_t>(large.size()));
}

}  // namespace
}  // namespace headscope
