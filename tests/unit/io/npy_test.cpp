#include "headscope/io/npy.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/npy_formula.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::Bytes;
using test::formula_value;
using test::TemporaryFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// An npy file of format 1.0 with this dictionary and these bytes after it.
std::string npy(std::string_view dictionary, std::string_view elements) {
  return Bytes()
      .add_text("\x93NUMPY")
      .add<std::uint8_t>(1)
      .add<std::uint8_t>(0)
      .add<std::uint16_t>(static_cast<std::uint16_t>(dictionary.size()))
      .add_text(dictionary)
      .add_text(elements)
      .str();
}

std::string npy_of_type(std::string_view descr, std::string_view elements) {
  return npy("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (), }", elements);
}

TEST(ParseNpy, ReadsWhatNumpySavedInEveryTypeOrderAndByteOrder) {
  const std::filesystem::path folder = test::golden_npy_folder();
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".npy") || name.starts_with("refused")) continue;
    SCOPED_TRACE(name);
    const NpyFile npy_file = NpyFile::open(file.path());
    const NpyView& array = npy_file.array();
    EXPECT_EQ(array.type.kind, name[0]);
    EXPECT_EQ(array.type.size, static_cast<std::size_t>(name[1] - '0'));
    const std::vector<float> floats = npy_values<float>(array, name);
    const std::vector<double> doubles = npy_values<double>(array, name);
    ASSERT_EQ(floats.size(), element_count(array.shape));
    for (std::size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(doubles[i], formula_value(array.type.kind, i)) << "element " << i;
      ASSERT_EQ(floats[i], static_cast<float>(formula_value(array.type.kind, i))) << "element " << i;
    }
    if (array.type.kind != 'f') {
      const std::vector<std::int64_t> integers = npy_values<std::int64_t>(array, name);
      for (std::size_t i = 0; i < integers.size(); ++i) {
        ASSERT_EQ(integers[i], static_cast<std::int64_t>(formula_value(array.type.kind, i))) << "element " << i;
      }
    }
    ++read;
  }
  EXPECT_EQ(read, 12 * 4 + 10);
}

TEST(ParseNpy, TakesShapesFromTheHeaderNotFromTheFileName) {
  const auto shape = [](const char* name) { return NpyFile::open(test::golden_npy_folder() / name).array().shape; };
  EXPECT_EQ(shape("f4le_5x7_f.npy"), (Shape{5, 7}));
  EXPECT_EQ(shape("i2be_2x3x4x5_f.npy"), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(shape("f8le_scalar_c.npy"), Shape{});
  EXPECT_EQ(shape("f4le_0_c.npy"), Shape{0});
  EXPECT_EQ(shape("f4le_3x0x2_f.npy"), (Shape{3, 0, 2}));
}

TEST(ParseNpy, RefusesWhatNumpySavesButIsNotNumbers) {
  const auto open = [](const char* name) { return NpyFile::open(test::golden_npy_folder() / name); };
  EXPECT_ERROR(open("refused_object.npy"), ErrorKind::kUnsupported, "pickled Python objects");
  EXPECT_ERROR(open("refused_record.npy"), ErrorKind::kUnsupported, "records with named fields");
  EXPECT_ERROR(open("refused_string.npy"), ErrorKind::kUnsupported, "'<U2'");
  EXPECT_ERROR(open("refused_complex.npy"), ErrorKind::kUnsupported, "complex numbers");
  EXPECT_ERROR(open("refused_datetime.npy"), ErrorKind::kUnsupported, "'<M8[ns]'");
  EXPECT_ERROR(open("refused_void.npy"), ErrorKind::kUnsupported, "astype('float32')");
}

TEST(ParseNpy, AcceptsWhateverPythonWouldReadAsTheSameDictionary) {
  const std::string elements(24, '\0');
  for (const char* dictionary : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
           "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}          \n",
           "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3,)}",
           " { 'descr' : '=f4' , 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , } \t\r\n",
           "{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3)}",
       }) {
    SCOPED_TRACE(dictionary);
    const std::string file = npy(dictionary, elements);
    const NpyView array = parse_npy(bytes_of(file), "test");
    EXPECT_EQ(array.type, (NpyType{'f', 4, false}));
    EXPECT_EQ(array.shape, (Shape{2, 3}));
    EXPECT_EQ(array.bytes.size(), 24U);
  }
}

struct BrokenFile {
  const char* what;
  std::string bytes;
  ErrorKind kind;
  const char* message;
};

std::vector<BrokenFile> broken_files() {
  const auto format = ErrorKind::kFormat;
  const auto unsupported = ErrorKind::kUnsupported;
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234");
  std::string version = good;
  version[6] = 4;
  std::string minor = good;
  minor[7] = 1;
  std::string length = good;
  length[9] = '\x7F';
  std::string many_axes;
  for (int i = 0; i < 65; ++i) many_axes += "1,";
  const auto with_shape = [](const std::string& shape, std::string_view elements = "") {
    return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", elements);
  };
  return {
      {"empty", "", format, "not an npy array"},
      {"other magic", "PK\3\4 a zip archive", format, "not an npy array"},
      {"magic alone", "\x93NUMPY", format, "version"},
      {"format 4.0", version, unsupported, "npy format 4.0, expected 1.0, 2.0 or 3.0"},
      {"format 1.1", minor, unsupported, "npy format 1.1"},
      {"header longer than the file", length, format, "header at byte 10 needs"},
      {"no dictionary", npy("", ""), format, "found its end at character 0, expected '{'"},
      {"not a dictionary", npy("[]", ""), format, "found '[' at character 0, expected '{'"},
      {"control character", npy("\x1B[2J", ""), format, "found '\\x1b'"},
      {"unclosed", npy("{'descr': '<f4'", ""), format, "found its end"},
      {"unclosed string", npy("{'descr: ", ""), format, "expected a closing quote"},
      {"no descr", npy("{'fortran_order': False, 'shape': ()}", ""), format, "has no 'descr'"},
      {"no order", npy("{'descr': '<f4', 'shape': ()}", ""), format, "has no 'fortran_order'"},
      {"no shape", npy("{'descr': '<f4', 'fortran_order': False}", ""), format, "has no 'shape'"},
      {"unknown key", npy("{'color\n': 'red'}", ""), format, "unknown key 'color\\x0a'"},
      {"repeated key", npy("{'shape': (), 'shape': ()}", ""), format, "duplicate 'shape'"},
      {"text after it", npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + x", ""), format,
       "expected nothing after the dictionary"},
      {"order is a number", npy("{'fortran_order': 1}", ""), format, "expected True or False"},
      {"descr is a number", npy("{'descr': 4}", ""), format, "expected a type in quotes"},
      {"descr is empty", npy_of_type("", ""), format, "expected a type such as '<f4'"},
      {"no byte order", npy_of_type("f4", ""), format, "'descr' is 'f4'"},
      {"no size", npy_of_type("<f", ""), format, "'descr' is '<f'"},
      {"text after the size", npy_of_type("<f4x", ""), format, "'descr' is '<f4x'"},
      {"size beyond 64 bits", npy_of_type("<f99999999999999999999", ""), format, "'descr' is"},
      {"object", npy_of_type("|O", ""), unsupported, "never loads"},
      {"bfloat16", npy_of_type("<V2", "12"), unsupported, "bfloat16"},
      {"half a byte", npy_of_type("<f0", ""), unsupported, "'<f0'"},
      {"quadruple precision", npy_of_type("<f16", std::string(16, 'x')), unsupported, "expected f2 f4 f8"},
      {"two-byte bool", npy_of_type("|b2", "12"), unsupported, "'|b2'"},
      {"bytes", npy_of_type("|S4", "1234"), unsupported, "'|S4'"},
      {"shape is a number", with_shape("(1)", "1234"), format, "expected ','"},
      {"shape is a list", with_shape("[1]", "1234"), format, "expected '('"},
      {"negative extent", with_shape("(-1,)"), format, "a non-negative integer"},
      {"fractional extent", with_shape("(1.5, 2)"), format, "found '.'"},
      {"two commas", with_shape("(1,,)"), format, "expected an extent"},
      {"extent beyond 64 bits", with_shape("(18446744073709551616,)"), format, "fits 64 bits"},
      {"product beyond 64 bits", with_shape("(4294967296, 4294967296)"), format, "more bytes than 64 bits can count"},
      {"bytes beyond 64 bits", with_shape("(4611686018427387905,)", "1234"), format, "more bytes than 64 bits"},
      {"a terabyte in four bytes", with_shape("(274877906944,)", "1234"), format, "takes 1099511627776 bytes"},
      {"65 axes", with_shape("(" + many_axes + ")", "1234"), unsupported, "more than 64 axes"},
      {"a byte too few", good.substr(0, good.size() - 1), format, "3 bytes follow the npy header"},
      {"a byte too many", good + "x", format, "5 bytes follow the npy header"},
  };
}

TEST(ParseNpy, SaysWhatIsWrongWithABrokenFile) {
  for (const BrokenFile& broken : broken_files()) {
    SCOPED_TRACE(broken.what);
    EXPECT_ERROR(parse_npy(bytes_of(broken.bytes), "x.npy"), broken.kind, broken.message);
    EXPECT_ERROR(parse_npy(bytes_of(broken.bytes), "x.npy"), broken.kind, "x.npy: ");
  }
}

TEST(ParseNpy, RefusesAFileCutAtAnyByte) {
  const std::string good = npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }\n", "12345678");
  for (std::size_t size = 0; size < good.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string cut = good.substr(0, size);
    EXPECT_ERROR(parse_npy(bytes_of(cut), "x"), ErrorKind::kFormat, "x: ");
  }
}

TEST(ParseNpy, SurvivesAnyChangeOfOneByte) {
  const std::string good = npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }\n", "12345678");
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = good;
      changed[at] = static_cast<char>(value);
      try {
        EXPECT_EQ(npy_values<float>(parse_npy(bytes_of(changed), "x"), "x").size(), 4U);
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::kInvalidArgument) << error.what();
      }
    }
  }
}

TEST(NpyHeader, IsReadBackAndAlignsTheElements) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{3, 4}, Shape{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) {
    for (const NpyType type : {NpyType{'f', 4, false}, NpyType{'u', 2, true}, NpyType{'b', 1, false}}) {
      const std::string header = npy_header(type, shape, true);
      EXPECT_EQ(header.size() % 64, 0U);
      const std::string file = header + std::string(*element_count(shape) * type.size, 'x');
      const NpyView array = parse_npy(bytes_of(file), "x");
      EXPECT_EQ(array.type, type);
      EXPECT_EQ(array.shape, shape);
      EXPECT_TRUE(array.fortran_order);
    }
  }
}

TEST(WriteNpy, IsReadBackUnchanged) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1.5F, -0.0F, std::numeric_limits<float>::infinity(), 1e-40F, 3.0F, 7.0F};
  write_npy<float>(folder.path() / "f.npy", values, Shape{2, 3});
  const NpyFile floats = NpyFile::open(folder.path() / "f.npy");
  EXPECT_EQ(floats.array().shape, (Shape{2, 3}));
  EXPECT_EQ(npy_values<float>(floats.array(), "f"), values);

  const std::vector<double> wide = {0.1};
  write_npy<double>(folder.path() / "d.npy", wide, Shape{});
  EXPECT_EQ(npy_values<double>(NpyFile::open(folder.path() / "d.npy").array(), "d"), wide);

  const std::vector<std::int64_t> integers = {std::numeric_limits<std::int64_t>::min(), 0, (1LL << 53) + 1};
  write_npy<std::int64_t>(folder.path() / "i.npy", integers, Shape{3});
  EXPECT_EQ(npy_values<std::int64_t>(NpyFile::open(folder.path() / "i.npy").array(), "i"), integers);
}

TEST(WriteNpy, RefusesAShapeOfAnotherSizeAndWritesNothing) {
  const TemporaryFolder folder;
  const std::vector<float> values(6);
  EXPECT_ERROR(write_npy<float>(folder.path() / "f.npy", values, Shape{2, 4}), ErrorKind::kInvalidArgument,
               "6 values do not fill an array of shape [2, 4]");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace headscope
