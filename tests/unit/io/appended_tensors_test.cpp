#include "headscope/io/appended_tensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/io/byte_reader.h"
#include "headscope/io/safetensors.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kCheckpoints = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/checkpoints";
const std::vector<AppendedTensor> kAdded = {{"new.a", {3}, {1, 2, 3}}, {"new.b", {2, 1}, {-4, 5}}};

std::string joined(std::span<const std::byte> original, const ExtendedFile& extended) {
  return std::string(as_text(extended.header)) + std::string(as_text(original.subspan(extended.data))) +
         std::string(as_text(extended.tail));
}

// Whether `after` has the tensors of `before`, unchanged, and the added ones.
template <typename File>
void expect_extended(const File& before, const File& after) {
  ASSERT_EQ(after.tensors().size(), before.tensors().size() + kAdded.size());
  for (std::size_t i = 0; i < before.tensors().size(); ++i) {
    const StoredTensor& old = before.tensors()[i];
    const StoredTensor& copy = after.tensors()[i];
    EXPECT_EQ(copy.name, old.name);
    EXPECT_EQ(copy.shape, old.shape);
    EXPECT_EQ(copy.dtype, old.dtype);
    EXPECT_EQ(as_text(copy.bytes), as_text(old.bytes));
  }
  for (std::size_t i = 0; i < kAdded.size(); ++i) {
    const StoredTensor& tensor = after.tensors()[before.tensors().size() + i];
    EXPECT_EQ(tensor.name, kAdded[i].name);
    EXPECT_EQ(tensor.shape, kAdded[i].shape);
    EXPECT_EQ(tensor.dtype, DType::kF32);
    std::vector<float> values(kAdded[i].values.size());
    ASSERT_EQ(tensor.bytes.size(), values.size() * sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    EXPECT_EQ(values, kAdded[i].values);
  }
}

TEST(AppendedTensors, FollowThoseOfASafetensorsFile) {
  const SafetensorsFile before = SafetensorsFile::open(kCheckpoints / "llama/model.safetensors");
  const ExtendedFile extended = extend_safetensors(before.bytes(), kAdded);
  EXPECT_EQ(extended.header.size() % 8, 0u);
  const test::TemporaryFolder folder;
  expect_extended(before, SafetensorsFile::open(folder.write("new.safetensors", joined(before.bytes(), extended))));
}

TEST(AppendedTensors, FollowThoseOfAGgufFile) {
  for (const char* name : {"gguf_llama", "gguf_llama_q8"}) {
    const GgufFile before = GgufFile::open(kCheckpoints / name / "model.gguf");
    const ExtendedFile extended = extend_gguf(before, kAdded);
    const test::TemporaryFolder folder;
    const GgufFile after = GgufFile::open(folder.write("new.gguf", joined(before.bytes(), extended)));
    expect_extended(before, after);
    EXPECT_EQ(after.metadata().size(), before.metadata().size());
  }
}

TEST(AppendedTensors, HaveNamesWithoutEscapes) {
  const SafetensorsFile file = SafetensorsFile::open(kCheckpoints / "llama/model.safetensors");
  const std::vector<AppendedTensor> odd = {{"a\"b", {1}, {1}}};
  EXPECT_ERROR(extend_safetensors(file.bytes(), odd), ErrorKind::kUnsupported, "special characters");
}

}  // namespace
}  // namespace headscope
