#include "headscope/io/npz.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "support/expect_error.h"
#include "support/npy_formula.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::golden_npy_folder;
using test::TemporaryFolder;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Arrays = std::map<std::string, std::vector<double>>;

Arrays read_all(const std::filesystem::path& path) {
  const NpzFile npz = NpzFile::open(path);
  Arrays arrays;
  for (const std::string& name : npz.names()) arrays[name] = npy_values<double>(npz.find(name)->view(), name);
  return arrays;
}

class NumpyNpz : public testing::TestWithParam<const char*> {};

TEST_P(NumpyNpz, IsReadWithEveryArray) {
  const NpzFile npz = NpzFile::open(golden_npy_folder() / GetParam());
  EXPECT_EQ(npz.names(), (std::vector<std::string>{"weights", "half", "ids", "scalar", "empty"}));
  EXPECT_EQ(npz.find("weights")->view().shape, (Shape{6, 8}));
  EXPECT_EQ(npz.find("half")->view().shape, (Shape{3, 5}));
  EXPECT_TRUE(npz.find("half")->view().fortran_order);
  EXPECT_EQ(npz.find("empty")->view().shape, (Shape{0, 4}));
  for (const std::string& name : npz.names()) {
    SCOPED_TRACE(name);
    const std::optional<NpzFile::Array> array = npz.find(name);
    const std::vector<double> values = npy_values<double>(array->view(), name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], test::formula_value(array->view().type.kind, i)) << "element " << i;
    }
  }
  EXPECT_FALSE(npz.find("weights.npy").has_value());
  EXPECT_FALSE(npz.find("").has_value());
}

INSTANTIATE_TEST_SUITE_P(Files, NumpyNpz, testing::Values("stored.npz", "compressed.npz", "piped.npz"),
                         [](const auto& file) {
                           const std::string_view name = file.param;
                           return std::string(name.substr(0, name.find('.')));
                         });

TEST(NpzFile, KeepsAnInflatedArrayWhenItIsMoved) {
  const NpzFile npz = NpzFile::open(golden_npy_folder() / "compressed.npz");
  NpzFile::Array first = *npz.find("ids");
  const NpzFile::Array second = std::move(first);
  EXPECT_EQ(npy_values<std::int64_t>(second.view(), "ids")[1], 37 - 50);
}

TEST(NpzFile, OpensAnArchiveWithoutArrays) {
  EXPECT_TRUE(NpzFile::open(golden_npy_folder() / "no_arrays.npz").names().empty());
}

TEST(NpzFile, RefusesOnlyTheArrayThatInflatesTooFar) {
  const NpzFile npz = NpzFile::open(golden_npy_folder() / "refused_ratio.npz");
  EXPECT_ERROR(npz.find("zeros"), ErrorKind::kUnsupported, "more than 100 times as many");
  EXPECT_TRUE(npz.find("ids").has_value());
}

TEST(NpzFile, RefusesOtherCompressionMethods) {
  EXPECT_ERROR(NpzFile::open(golden_npy_folder() / "refused_bzip2.npz"), ErrorKind::kUnsupported, "method 12");
}

TEST(NpzFile, RefusesAnNpyFile) {
  EXPECT_ERROR(NpzFile::open(golden_npy_folder() / "i8le_11_c.npy"), ErrorKind::kFormat, "not a zip archive");
}

TEST(NpzFile, NamesTheArrayThatIsBroken) {
  const TemporaryFolder folder;
  ZipWriter writer(folder.path() / "a.npz");
  writer.add("bad\n.npy", {std::as_bytes(std::span("not npy", 7))});
  writer.add("readme.txt", {});
  writer.commit();
  const NpzFile npz = NpzFile::open(folder.path() / "a.npz");
  EXPECT_EQ(npz.names(), (std::vector<std::string>{"bad\n"}));
  EXPECT_ERROR(npz.find("bad\n"), ErrorKind::kFormat, "a.npz: array 'bad\\x0a': not an npy array");
}

TEST(NpzFile, RefusesAFileCutAtAnyByte) {
  const TemporaryFolder folder;
  for (const char* name : {"stored.npz", "compressed.npz", "piped.npz"}) {
    const std::filesystem::path path = folder.write(name, contents(golden_npy_folder() / name));
    for (std::uintmax_t size = std::filesystem::file_size(path); size-- > 0;) {
      SCOPED_TRACE(size);
      std::filesystem::resize_file(path, size);
      EXPECT_ERROR(NpzFile::open(path), ErrorKind::kFormat, "npz: ");
    }
  }
}

TEST(NpzFile, NoticesEveryChangedByteThatMatters) {
  const TemporaryFolder folder;
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    const std::string good = contents(golden_npy_folder() / name);
    const Arrays expected = read_all(golden_npy_folder() / name);
    const std::filesystem::path path = folder.write(name, good);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](std::size_t at, char byte) { file.seekp(static_cast<std::streamoff>(at)).put(byte).flush(); };
    for (std::size_t at = 0; at < good.size(); put(at, good[at]), ++at) {
      for (const char mask : {'\x01', '\x04', '\x20', '\x80', '\xFF'}) {
        put(at, static_cast<char>(good[at] ^ mask));
        try {
          EXPECT_EQ(read_all(path), expected) << name << ", byte " << at;
        } catch (const Error& error) {
          EXPECT_TRUE(error.kind() == ErrorKind::kFormat || error.kind() == ErrorKind::kUnsupported) << error.what();
        }
      }
    }
  }
}

TEST(NpzWriter, IsReadBackUnchanged) {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<double> doubles = {0.1};
  const std::vector<std::int64_t> integers = {-1, 1LL << 40};
  NpzWriter writer(folder.path() / "a.npz");
  writer.add<float>("floats", floats, Shape{2, 3});
  writer.add<double>("group/doubles", doubles, Shape{});
  writer.add<std::int64_t>("integers", integers, Shape{2});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.npz"));
  writer.commit();

  const NpzFile npz = NpzFile::open(folder.path() / "a.npz");
  EXPECT_EQ(npz.names(), (std::vector<std::string>{"floats", "group/doubles", "integers"}));
  EXPECT_EQ(npz.find("floats")->view().shape, (Shape{2, 3}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(npz.find("floats")->view().bytes.data()) % 64, 0U);
  EXPECT_EQ(npy_values<float>(npz.find("floats")->view(), "x"), floats);
  EXPECT_EQ(npy_values<double>(npz.find("group/doubles")->view(), "x"), doubles);
  EXPECT_EQ(npy_values<std::int64_t>(npz.find("integers")->view(), "x"), integers);
}

TEST(NpzWriter, RefusesAShapeOfAnotherSize) {
  const TemporaryFolder folder;
  NpzWriter writer(folder.path() / "a.npz");
  const std::vector<float> floats(5);
  EXPECT_ERROR(writer.add<float>("x", floats, Shape{2, 3}), ErrorKind::kInvalidArgument,
               "array 'x': 5 values do not fill an array of shape [2, 3]");
}

}  // namespace
}  // namespace headscope
