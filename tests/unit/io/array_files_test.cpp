#include "headscope/io/array_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "headscope/io/decode.h"
#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/npy_formula.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;

// Every part of the array, from every element on, is what it is in the whole.
void expect_parts(const ArraySource& array, const std::vector<float>& whole) {
  ASSERT_EQ(array.size(), whole.size());
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    for (const std::size_t most : {1U, 3U, 8U, 1000U}) {
      std::vector<float> out(std::min(most, whole.size() - first));
      array.read(first, out);
      if (out.empty()) continue;
      // By their bits: a NaN is one too.
      ASSERT_EQ(std::memcmp(out.data(), whole.data() + first, out.size() * sizeof(float)), 0) << first;
    }
  }
}

TEST(ArrayFiles, PartsOfNpyFilesAreThoseOfTheWholeInEveryTypeOrderAndByteOrder) {
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(test::golden_npy_folder())) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".npy") || name.starts_with("refused")) continue;
    SCOPED_TRACE(name);
    const NpyFile whole = NpyFile::open(file.path());
    const ArraySource array = npy_source(NpyFile::open(file.path()), name);
    EXPECT_EQ(array.shape(), whole.array().shape);
    expect_parts(array, npy_values<float>(whole.array(), name));
    ++read;
  }
  EXPECT_EQ(read, 12 * 4 + 10);
}

TEST(ArrayFiles, PartsOfTensorsAreThoseOfTheWholeInEveryTypeThatDecodes) {
  const TemporaryFolder folder;
  for (const char* name : {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"}) {
    SCOPED_TRACE(name);
    const DType dtype = *dtype_from_safetensors(name);
    std::string raw(300 * info(dtype).block_bytes, '\0');
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>(i * 37 % 251);
    test::SafetensorsWriter writer;
    writer.add("before", {3}).add_raw("maps", name, {3, 10, 10}, raw).add("after", {2});
    const auto path = folder.write("maps.safetensors", writer.str());
    std::vector<float> whole(300);
    decode(dtype, std::as_bytes(std::span(raw)), whole);
    const ArraySource array = tensor_source(SafetensorsFile::open(path), "maps");
    EXPECT_EQ(array.shape(), (Shape{3, 10, 10}));
    expect_parts(array, whole);
  }
}

TEST(ArrayFiles, ReadNpzArraysThatOutliveTheirFile) {
  const TemporaryFolder folder;
  std::vector<float> values(30);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  NpzWriter writer(folder.path() / "maps.npz");
  writer.add<float>("maps", values, Shape{5, 6});
  writer.commit();
  const auto open = [&] {
    const NpzFile file = NpzFile::open(folder.path() / "maps.npz");
    return npz_source(*file.find("maps"), "maps");
  };
  expect_parts(open(), values);
}

TEST(ArrayFiles, SayWhichElementsDoNotFitOnlyWhenTheyAreRead) {
  const TemporaryFolder folder;
  write_npy<double>(folder.path() / "large.npy", std::vector<double>{1, 2, 1e39, 4}, Shape{4});
  const ArraySource array = npy_source(NpyFile::open(folder.path() / "large.npy"), "large.npy");
  std::vector<float> two(2);
  array.read(0, two);
  EXPECT_EQ(two, (std::vector<float>{1, 2}));
  EXPECT_ERROR(array.read(1, two), ErrorKind::kUnsupported,
               "large.npy: some elements of type f8 are out of the range of float32");
}

TEST(ArrayFiles, RefuseTensorsThatAreNotThereOrDoNotDecode) {
  const TemporaryFolder folder;
  test::SafetensorsWriter writer;
  writer.add_raw("numbers", "I32", {2}, std::string(8, '\0'));
  const auto path = folder.write("x.safetensors", writer.str());
  EXPECT_ERROR(tensor_source(SafetensorsFile::open(path), "numbers"), ErrorKind::kUnsupported, "cannot convert I32");
  EXPECT_ERROR(tensor_source(SafetensorsFile::open(path), "maps"), ErrorKind::kInvalidArgument,
               "x.safetensors: has no tensor 'maps'");
}

}  // namespace
}  // namespace headscope
