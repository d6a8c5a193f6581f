// Weights that quantization libraries packed, against the numbers that tests/golden/make_packed.py found them to mean,
// and tables of broken ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headscope/io/npz.h"
#include "headscope/io/safetensors.h"
#include "headscope/model/fingerprint.h"
#include "headscope/model/model.h"
#include "headscope/model/read_weights.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::SafetensorsWriter;
using test::TemporaryFolder;

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/packed";
const std::string kLayer = "model.layers.0.self_attn.";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Packed : public testing::TestWithParam<std::string> {
 protected:
  Packed()
      : model_(Model::open(kFolder / GetParam())), expected_(NpzFile::open(kFolder / GetParam() / "expected.npz")) {}

  std::vector<float> expected(const std::string& name) const {
    const auto array = expected_.find(kLayer + name);
    EXPECT_TRUE(array.has_value()) << name;
    return npy_values<float>(array->view(), name);
  }

  Model model_;
  NpzFile expected_;
};

TEST_P(Packed, DecodesToThePublishedFormulaBitForBit) {
  for (const std::string name : {"q_proj.weight", "o_proj.weight"}) {
    const StoredTensor* tensor = model_.checkpoint().find(kLayer + name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->shape, (Shape{32, 32}));
    Buffer<float> scratch;
    const std::span<const float> found = read_weights(model_.checkpoint(), *tensor, scratch);
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), expected(name));
    // Any part of a row gives the same.
    std::vector<float> part(7);
    decode_part(*tensor, 32 * 5 + 9, part);
    EXPECT_TRUE(std::ranges::equal(part, found.subspan(32 * 5 + 9, 7)));
  }
}

TEST_P(Packed, ReportsTheStepOfEveryElement) {
  const StoredTensor* tensor = model_.checkpoint().find(kLayer + "q_proj.weight");
  ASSERT_NE(tensor, nullptr);
  ASSERT_TRUE(has_spacings(*tensor));
  std::vector<float> values(32 * 32);
  std::vector<float> steps(values.size());
  decode_part(*tensor, 0, values, steps);
  const std::vector<float> wanted = expected("q_proj.weight.steps");
  for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_FLOAT_EQ(steps[i], wanted[i]) << i;
}

TEST_P(Packed, GivesHeadsAndTheNoiseOfStoringThem) {
  const std::vector<float> q = expected("q_proj.weight");
  const std::vector<float> o = expected("o_proj.weight");
  const HeadWeights reads = model_.load_heads(0, Role::kQ, WeightProcessing::kRaw);
  const HeadWeights writes = model_.load_heads(0, Role::kO, WeightProcessing::kRaw);
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      ASSERT_EQ(reads.head(1)(i, j), q[(16 + j) * 32 + i]);
      ASSERT_EQ(writes.head(1)(i, j), o[i * 32 + 16 + j]);
    }
  }
  // tau of METHODS 1 from the steps: c (largest row + largest column) / sqrt(12), c = 1.5.
  const std::vector<float> steps = expected("q_proj.weight.steps");
  std::vector<double> rows(16);
  std::vector<double> columns(32);
  for (std::size_t j = 0; j < 16; ++j) {
    for (std::size_t i = 0; i < 32; ++i) {
      const double square = std::pow(static_cast<double>(steps[(16 + j) * 32 + i]), 2);
      rows[j] += square;
      columns[i] += square;
    }
  }
  const double tau = 1.5 * (std::sqrt(std::ranges::max(rows)) + std::sqrt(std::ranges::max(columns))) / std::sqrt(12.0);
  EXPECT_NEAR(reads.noise(1), tau, 1e-6 * tau);
  EXPECT_GT(writes.noise(0), 0);
}

TEST_P(Packed, HidesThePartsBehindTheWeight) {
  EXPECT_EQ(model_.info().missing, std::vector<std::string>());
  for (const StoredTensor* tensor : model_.checkpoint().tensors()) {
    EXPECT_TRUE(tensor->name.ends_with("weight")) << tensor->name;
  }
  EXPECT_EQ(model_.info().dtypes.size(), 1u);
  EXPECT_LT(info(model_.info().dtypes[0]).block_bytes, 2 * info(model_.info().dtypes[0]).block_elements);
}

INSTANTIATE_TEST_SUITE_P(Formats, Packed, testing::ValuesIn(cases()),
                         [](const auto& param_info) { return param_info.param; });

// A case as a table of tensors that can be changed before it is written again.
struct Tensors {
  struct One {
    std::string dtype;
    Shape shape;
    std::string bytes;
  };
  std::map<std::string, One> all;
  std::string config;

  explicit Tensors(const std::string& name) {
    const SafetensorsFile file = SafetensorsFile::open(kFolder / name / "model.safetensors");
    for (const StoredTensor& tensor : file.tensors()) {
      all[tensor.name] = {std::string(info(tensor.dtype).name), tensor.shape,
                          std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())};
    }
    config = test::read(kFolder / name / "config.json");
  }
  One& q(const std::string& part) { return all.at(kLayer + "q_proj." + part); }
  void erase(const std::string& part) { all.erase(kLayer + "q_proj." + part); }
  void set_config(const std::string& from, const std::string& to) {
    const auto at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
  }
  void write(const TemporaryFolder& folder) const {
    SafetensorsWriter writer;
    for (const auto& [name, tensor] : all) writer.add_raw(name, tensor.dtype, tensor.shape, tensor.bytes);
    folder.write("config.json", config);
    folder.write("model.safetensors", writer.str());
  }
};

void resize(Tensors::One& tensor, const Shape& shape) {
  const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(*element_count(tensor.shape));
  tensor.shape = shape;
  tensor.bytes.assign(size * static_cast<std::size_t>(*element_count(shape)), '\0');
}

struct Broken {
  std::string name;
  std::string base;
  std::function<void(Tensors&)> change;
  ErrorKind kind;
  std::string message;
};

class BrokenPacked : public testing::TestWithParam<Broken> {};

TEST_P(BrokenPacked, IsRefusedInOneLine) {
  Tensors tensors(GetParam().base);
  GetParam().change(tensors);
  const TemporaryFolder folder;
  tensors.write(folder);
  EXPECT_ERROR((void)Model::open(folder.path()).load_heads(0, Role::kQ), GetParam().kind, GetParam().message);
}

constexpr auto kFormat = ErrorKind::kFormat;
constexpr auto kUnsupported = ErrorKind::kUnsupported;

const std::vector<Broken> kBroken = {
    {"gptq_no_scales", "gptq4", [](Tensors& t) { t.erase("scales"); }, kFormat, "lacks tensor"},
    {"gptq_no_zeros", "gptq4", [](Tensors& t) { t.erase("qzeros"); }, kFormat, "q_proj.qzeros"},
    {"gptq_codes_as_floats", "gptq4", [](Tensors& t) { t.q("qweight").dtype = "F32"; }, kUnsupported,
     "is stored as F32, expected I32"},
    {"gptq_short_scales", "gptq4",
     [](Tensors& t) {
       resize(t.q("scales"), {2, 31});
     },
     kFormat, "is [2, 31], expected [2, 32]"},
    {"gptq_scalar_codes", "gptq4", [](Tensors& t) { t.q("qweight").shape = {128}; }, kFormat, "expected a matrix"},
    {"gptq_empty_codes", "gptq4",
     [](Tensors& t) {
       resize(t.q("qweight"), {0, 32});
     },
     kFormat, "expected a matrix"},
    {"gptq_groups_beyond_inputs", "gptq4",
     [](Tensors& t) {
       resize(t.q("scales"), {9, 32});
       resize(t.q("qzeros"), {9, 4});
     },
     kFormat, "has 9 groups, expected groups of 16 of 32 inputs"},
    {"gptq_three_bits", "gptq4", [](Tensors& t) { t.set_config("\"bits\": 4", "\"bits\": 3"); }, kUnsupported,
     "config.json says 3 bits"},
    {"gptq_group_size_zero", "gptq4", [](Tensors& t) { t.set_config("\"group_size\": 16", "\"group_size\": 0"); },
     kUnsupported, "'group_size' is neither -1 nor positive"},
    {"gptq_other_format", "gptq4",
     [](Tensors& t) { t.set_config("\"checkpoint_format\": \"gptq\"", "\"checkpoint_format\": \"marlin\""); },
     kUnsupported, "format 'marlin'"},
    {"gptq_no_order", "gptq4_act_order", [](Tensors& t) { t.erase("g_idx"); }, kFormat, "q_proj.g_idx"},
    {"gptq_short_order", "gptq4_act_order", [](Tensors& t) { resize(t.q("g_idx"), {31}); }, kFormat,
     "is [31], expected [32]"},
    {"gptq_group_too_large", "gptq4_act_order", [](Tensors& t) { t.q("g_idx").bytes[4 * 31] = 2; }, kFormat,
     "names group 2 at index 31, expected 0 to 1"},
    {"gptq_group_negative", "gptq4_act_order", [](Tensors& t) { t.q("g_idx").bytes[3] = '\x80'; }, kFormat,
     "expected 0 to 1"},
    {"gptq_and_plain", "gptq4",
     [](Tensors& t) {
       t.all[kLayer + "q_proj.weight"] = {"F32", {1}, std::string(4, '\0')};
     },
     kFormat, "stored both plain and packed"},
    {"awq_gemv", "awq", [](Tensors& t) { t.set_config("\"gemm\"", "\"gemv\""); }, kUnsupported, "packing 'gemv'"},
    {"awq_eight_bits", "awq", [](Tensors& t) { t.set_config("\"bits\": 4", "\"bits\": 8"); }, kUnsupported, "8 bits"},
    {"awq_short_zeros", "awq",
     [](Tensors& t) {
       resize(t.q("qzeros"), {2, 3});
     },
     kFormat, "expected [2, 4]"},
    {"awq_odd_groups", "awq",
     [](Tensors& t) {
       resize(t.q("qzeros"), {3, 4});
       resize(t.q("scales"), {3, 32});
     },
     kFormat, "has 3 groups of 32 inputs"},
    {"bnb_no_factors", "bnb_nf4", [](Tensors& t) { t.erase("weight.absmax"); }, kFormat, "weight.absmax"},
    {"bnb_short_codes", "bnb_nf4",
     [](Tensors& t) {
       resize(t.q("weight"), {511, 1});
     },
     kFormat, "has 511 bytes, expected two codes per byte"},
    {"bnb_short_factors", "bnb_nf4", [](Tensors& t) { resize(t.q("weight.absmax"), {15}); }, kFormat,
     "is [15], expected [16]"},
    {"bnb_short_table", "bnb_nf4", [](Tensors& t) { resize(t.q("weight.quant_map"), {15}); }, kFormat,
     "is [15], expected [16]"},
    {"bnb_table_of_nan", "bnb_nf4", [](Tensors& t) { t.q("weight.quant_map").bytes.assign(64, '\xFF'); },
     ErrorKind::kNumeric, "weight.quant_map' holds NaN or Inf"},
    {"bnb_state_is_no_json", "bnb_nf4", [](Tensors& t) { t.q("weight.quant_state.bitsandbytes__nf4").bytes[0] = 'x'; },
     kFormat, "bitsandbytes__nf4"},
    {"bnb_state_without_shape", "bnb_nf4",
     [](Tensors& t) {
       auto& state = t.q("weight.quant_state.bitsandbytes__nf4");
       state.bytes = "{\"blocksize\": 64}";
       state.shape = {state.bytes.size()};
     },
     kFormat, "says shape [] and blocks of 64"},
    {"bnb_huge_shape", "bnb_nf4",
     [](Tensors& t) {
       auto& state = t.q("weight.quant_state.bitsandbytes__nf4");
       state.bytes = "{\"blocksize\": 64, \"shape\": [4294967296, 4294967296]}";
       state.shape = {state.bytes.size()};
     },
     kFormat, "says shape"},
    {"bnb_nested_without_table", "bnb_nf4_double", [](Tensors& t) { t.erase("weight.nested_quant_map"); }, kFormat,
     "weight.nested_quant_map"},
    {"bnb_short_nested", "bnb_nf4_double", [](Tensors& t) { resize(t.q("weight.nested_absmax"), {2}); }, kFormat,
     "is [2], expected [1]"},
    {"bnb_int8_short_factors", "bnb_int8", [](Tensors& t) { resize(t.q("SCB"), {31}); }, kFormat,
     "is [31], expected [32]"},
    {"bnb_int8_tiles", "bnb_int8", [](Tensors& t) { t.q("weight_format").bytes[0] = 1; }, kUnsupported,
     "not stored row by row"},
    {"ct_no_shape", "ct_int4_group", [](Tensors& t) { t.erase("weight_shape"); }, kFormat, "weight_shape"},
    {"ct_no_scales", "ct_int4_group", [](Tensors& t) { t.erase("weight_scale"); }, kFormat, "weight_scale"},
    {"ct_negative_shape", "ct_int4_group", [](Tensors& t) { t.q("weight_shape").bytes[7] = '\xFF'; }, kFormat,
     "says an extent of -"},
    {"ct_other_shape", "ct_int4_group", [](Tensors& t) { t.q("weight_shape").bytes[8] = 96; }, kUnsupported,
     "packs [32, 96] into words of shape [32, 4]"},
    {"ct_odd_scales", "ct_int4_group",
     [](Tensors& t) {
       resize(t.q("weight_scale"), {32, 3});
     },
     kFormat, "expected one scale per tensor, row, group or block of [32, 32]"},
    {"ct_no_zeros", "ct_int4_zeros", [](Tensors& t) { t.erase("weight_zero_point"); }, kFormat, "weight_zero_point"},
    {"ct_short_zeros", "ct_int4_zeros",
     [](Tensors& t) {
       resize(t.q("weight_zero_point"), {3, 2});
     },
     kFormat, "is [3, 2], expected [4, 2]"},
    {"ct_sparse", "ct_int4_group", [](Tensors& t) { t.set_config("\"pack-quantized\"", "\"marlin-24\""); },
     kUnsupported, "format 'marlin-24'"},
    {"ct_codes_as_floats", "ct_int8_channel", [](Tensors& t) { t.q("weight").dtype = "U8"; }, kUnsupported,
     "is stored as U8, expected I8 or F8_E4M3"},
    {"ct_blocks_unstated", "ct_fp8_block", [](Tensors& t) { t.set_config("\"block_structure\"", "\"other\""); },
     kFormat, "expected one scale per tensor"},
    {"mxfp4_no_scales", "mxfp4", [](Tensors& t) { t.erase("weight_scales"); }, kFormat, "weight_scales"},
    {"mxfp4_short_blocks", "mxfp4",
     [](Tensors& t) {
       resize(t.q("weight_blocks"), {32, 1, 15});
     },
     kFormat, "is [32, 1, 15], expected [32, 1, 16]"},
    {"mxfp4_flat", "mxfp4",
     [](Tensors& t) {
       resize(t.q("weight_scales"), {32});
       resize(t.q("weight_blocks"), {32, 16});
     },
     kFormat, "is [32], expected rows of exponents"},
    {"unstated_gptq", "gptq4", [](Tensors& t) { t.set_config("\"quantization_config\"", "\"other\""); }, kUnsupported,
     "without a matching quantization_config"},
    {"unstated_mxfp4", "mxfp4", [](Tensors& t) { t.set_config("\"quantization_config\"", "\"other\""); }, kUnsupported,
     "quantized with MXFP4"},
    {"wrong_method", "gptq4",
     [](Tensors& t) {
       t.set_config("\"quant_method\": \"gptq\"", "\"quant_method\": \"awq\"");
       t.set_config("\"checkpoint_format\": \"gptq\"", "\"version\": \"gemm\"");
     },
     kFormat, "is [2, 32], expected [2, 256]"},
    {"unknown_method", "gptq4",
     [](Tensors& t) { t.set_config("\"quant_method\": \"gptq\"", "\"quant_method\": \"hqq\""); }, kUnsupported,
     "quantized with hqq"},
};

INSTANTIATE_TEST_SUITE_P(Tables, BrokenPacked, testing::ValuesIn(kBroken),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(PackedFormats, OfBitsandbytesNeedNoConfiguration) {
  Tensors tensors("bnb_nf4_double");
  tensors.set_config("\"quantization_config\"", "\"other\"");
  const TemporaryFolder folder;
  tensors.write(folder);
  EXPECT_EQ(Model::open(folder.path()).info().dtypes, std::vector<DType>{DType::kNF4});
}

TEST(PackedFormats, ChangeTheFingerprintWithAnyPart) {
  const auto print = [](const std::function<void(Tensors&)>& change) {
    Tensors tensors("gptq4_act_order");
    change(tensors);
    const TemporaryFolder folder;
    tensors.write(folder);
    return fingerprint(Model::open(folder.path()));
  };
  const std::string original = print([](Tensors&) {});
  EXPECT_EQ(print([](Tensors&) {}), original);
  EXPECT_NE(print([](Tensors& t) { t.q("qzeros").bytes[5] ^= 1; }), original);
  EXPECT_NE(print([](Tensors& t) { t.q("scales").bytes[7] ^= 1; }), original);
}

}  // namespace
}  // namespace headscope
