#include "headscope/io/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/hub_cache.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::HubCache;
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
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported, "is an empty folder");
  folder.write("model.safetensors", kOne);
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo, "has no config.json");
  folder.write("config.json", "[]");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kFormat, "config.json: is not a JSON object");
}

TEST(Checkpoint, SaysWhatKeepsAFileFromBeingLookedAt) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_ERROR(Checkpoint::open(folder.path() / "loop"), ErrorKind::kIo, "loop: cannot access: ");
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
  EXPECT_ERROR(Checkpoint::open(file), ErrorKind::kUnsupported, "pass its folder instead");
  EXPECT_ERROR(Checkpoint::open(folder.write("a/notes.txt", "hello")), ErrorKind::kUnsupported,
               "is a text, not a model");
}

TEST(Checkpoint, TakesTheOnlyGgufOfAFolder) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.gguf", gguf_part(1));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.is_gguf());
  EXPECT_EQ(checkpoint.path(), folder.path() / "model.gguf");
  folder.write("other.gguf", gguf_part(1));
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported,
               "holds 2 GGUF files; pass one of them: model.gguf, other.gguf");
  folder.write("model.safetensors", kOne);
  EXPECT_FALSE(Checkpoint::open(folder.path()).is_gguf());
}

TEST(Checkpoint, TakesThePartsOfASplitGgufForOne) {
  const TemporaryFolder folder;
  folder.write("m-00002-of-00002.gguf", gguf_part(2));
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo, "has no m-00001-of-00002.gguf");
  folder.write("m-00001-of-00002.gguf", gguf_part(2));
  EXPECT_EQ(Checkpoint::open(folder.path()).file_count(), 2u);
  folder.write("m-00001-of-00003.gguf", gguf_part(3));
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported,
               "pass one of them: m-00001-of-00002.gguf, m-00001-of-00003.gguf");
}

TEST(Checkpoint, NamesTheBaseOfAnAdapter) {
  const TemporaryFolder folder;
  folder.write("adapter_config.json", R"({"peft_type": "LORA", "base_model_name_or_path": "me/base\n"})");
  folder.write("adapter_model.safetensors", kOne);
  for (const char* name : {"README.md", "config.json"}) {
    folder.write(name, "{}");
    EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported,
                 "is an adapter (LORA) of 'me/base\\x0a', not a whole model; merge the two: "
                 "AutoPeftModelForCausalLM.from_pretrained(FOLDER).merge_and_unload().save_pretrained(NEW_FOLDER)");
  }
  folder.write("adapter_config.json", "[]");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kUnsupported, "is an adapter (unknown) of 'unknown'");
  folder.write("model.safetensors", kTwo);
  EXPECT_EQ(Checkpoint::open(folder.path()).tensors().size(), 1u);
}

TEST(Checkpoint, SaysWhatAGitLfsPointerStandsFor) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid "
      "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d1"
      "7e2393\nsize 548105171\n";
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::filesystem::path& path) {
    EXPECT_ERROR(Checkpoint::open(path), ErrorKind::kIo,
                 name +
                     ": is a git-lfs pointer to a file of 548 MB that was not fetched; run in its "
                     "folder: git lfs pull");
  };
  folder.write("config.json", "{}");
  refused("model.safetensors", folder.write("model.safetensors", pointer).parent_path());
  refused("model.safetensors", folder.path() / "model.safetensors");
  refused("model.gguf", folder.write("model.gguf", pointer));
  refused("config.json", folder.write("config.json", pointer).parent_path());
  const TemporaryFolder sharded;
  sharded.write("config.json", "{}");
  refused("index.json", sharded.write("model.safetensors.index.json", pointer).parent_path());
  sharded.write("model.safetensors.index.json", pointer.substr(0, pointer.find("548")) + "x");
  EXPECT_ERROR(Checkpoint::open(sharded.path()), ErrorKind::kIo, "is a git-lfs pointer to a file that was not fetched");
}

TEST(Checkpoint, NoticesAnUnfinishedDownload) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors.part", kOne.substr(0, 20));
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo,
               "holds no safetensors file; its download is unfinished (model.safetensors.part); finish it first");
  folder.write(".cache/huggingface/download/x.abc.incomplete", "");
  EXPECT_ERROR(
      Checkpoint::open(folder.path()), ErrorKind::kIo,
      "its download is unfinished (.cache/huggingface/download/x.abc.incomplete); resume it with: hf download NAME "
      "--local-dir " +
          folder.path().string());
  folder.write("model.safetensors", kOne);
  EXPECT_EQ(Checkpoint::open(folder.path()).tensors().size(), 2u);  // what is left over elsewhere does not matter
  folder.write("model.safetensors.aria2", "");
  EXPECT_ERROR(Checkpoint::open(folder.path()), ErrorKind::kIo,
               "model.safetensors: its download is unfinished (model.safetensors.aria2)");
}

TEST(Checkpoint, SaysHowToDownloadWhatASnapshotLacks) {
  const HubCache cache;
  const auto open = [] { return Checkpoint::open(find_model("me/model")); };
  cache.add("me/model", {{"tokenizer.json", "{}"}});
  cache.add_dangling("me/model", "README.md");  // nobody needs it
  EXPECT_ERROR(open(), ErrorKind::kIo,
               "holds no safetensors file; download it with: hf download me/model --include '*.safetensors*'");
  cache.add_dangling("me/model", "model.safetensors");
  EXPECT_ERROR(open(), ErrorKind::kIo,
               "has no config.json, which names the family of the model; download it with: hf download me/model "
               "config.json");
  cache.add("me/model", {{"config.json", "{}"}});
  cache.folder().write("models--me--model/blobs/abc.incomplete", "");
  EXPECT_ERROR(open(), ErrorKind::kIo,
               "model.safetensors is a dangling link; its download is "
               "unfinished (blobs/abc.incomplete); download it with: hf download me/model model.safetensors");
  cache.add("me/model", {{"model.safetensors.index.json", R"({"weight_map": {"a": "one part.safetensors"}})"}});
  EXPECT_ERROR(open(), ErrorKind::kIo, "shard 'one part.safetensors' is missing");
  EXPECT_ERROR(open(), ErrorKind::kIo, "download it with: hf download me/model 'one part.safetensors'");
  EXPECT_ERROR(Checkpoint::open(find_model("me/model", test::kCommit)), ErrorKind::kIo,
               "'one part.safetensors' --revision " + test::kCommit);
  cache.add("me/model", {{"one part.safetensors", kOne}});
  EXPECT_EQ(open().tensors().size(), 2u);
  EXPECT_EQ(open().location().commit, test::kCommit);
}

TEST(Checkpoint, SaysHowToDownloadThePartOfAGguf) {
  const HubCache cache;
  cache.add("me/model", {{"m-00001-of-00002.gguf", gguf_part(2)}});
  EXPECT_ERROR(Checkpoint::open(find_model("model")), ErrorKind::kIo,
               "m-00002-of-00002.gguf: part 2 of 2 is missing; download it with: hf download me/model "
               "m-00002-of-00002.gguf");
  cache.add("me/model", {{"m-00002-of-00002.gguf", gguf_part(2)}});
  EXPECT_EQ(Checkpoint::open(find_model("model")).file_count(), 2u);
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
               "running: tensor 'a' has 24 bytes, which do not match F32 of [7]");
  EXPECT_ERROR(Checkpoint::from_memory("running", {tensor("a", {std::size_t{1} << 62, 8})}, "{}"),
               ErrorKind::kInvalidArgument, "do not match");
  EXPECT_ERROR(Checkpoint::from_memory("running", {tensor("a", {6}), tensor("a", {6})}, "{}"), ErrorKind::kFormat,
               "running: tensor 'a' is a duplicate");
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
