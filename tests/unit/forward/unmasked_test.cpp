// Decoders that read in both directions, as their configuration says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/io/npz.h"
#include "headscope/model/rotary_of.h"
#include "support/changed_case.h"
#include "support/expect_error.h"
#include "support/forward_record.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ForwardRecord;
using test::TemporaryFolder;

const fs::path kGolden = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden";

// The first input of a golden case.
ModelInput first_input(const fs::path& golden) {
  const NpzFile file = NpzFile::open(golden / "expected.npz");
  const auto ids = file.find("input_ids");
  const auto values = npy_values<std::int64_t>(ids->view(), "input_ids");
  ModelInput input;
  for (std::size_t i = 0; i < ids->view().shape[1]; ++i) input.ids.push_back(static_cast<std::uint32_t>(values[i]));
  return input;
}

ForwardRecord run(const fs::path& path, const ModelInput& input) {
  return test::record_forward(Model::open(path), std::span(&input, 1));
}

ForwardRecord run_changed(const fs::path& golden, const json& patch) {
  const TemporaryFolder folder;
  fs::copy_file(golden / "model.safetensors", folder.path() / "model.safetensors");
  test::write_config(folder, golden, patch);
  return run(folder.path(), first_input(golden));
}

// Checks that each row of the pattern is the softmax of the row of scores over the keys at a distance up to `side`.
void expect_softmax_on_both_sides(const ForwardRecord& record, std::size_t side, std::size_t layer) {
  std::size_t rows = 0;
  for (const auto& [key, scores] : record.scores) {
    if (std::get<1>(key) != layer) continue;
    const auto query = static_cast<std::ptrdiff_t>(std::get<3>(key));
    std::vector<double> expected;
    double sum = 0;
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const auto distance = static_cast<std::size_t>(std::abs(static_cast<std::ptrdiff_t>(k) - query));
      expected.push_back(distance <= side ? std::exp(static_cast<double>(scores[k])) : 0);
      sum += expected.back();
    }
    const std::vector<float>& pattern = record.pattern.at(key);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      ASSERT_NEAR(static_cast<double>(pattern[k]), expected[k] / sum, 1e-5) << "query " << query << ", key " << k;
    }
    ++rows;
  }
  EXPECT_GT(rows, 0U);
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

class Unmasked : public testing::TestWithParam<std::string> {};

TEST_P(Unmasked, EveryQueryOfADecoderWithoutAMaskSeesEveryKey) {
  const fs::path golden = kGolden / GetParam();
  const ForwardRecord masked = run(golden, first_input(golden));
  const ForwardRecord record = run_changed(golden, {{"is_causal", false}});
  std::size_t layers = 0;
  for (const auto& [key, row] : record.pattern) layers = std::max(layers, std::get<1>(key) + 1);
  for (std::size_t layer = 0; layer < layers; ++layer) expect_softmax_on_both_sides(record, kAll, layer);
  // The first layer reads the same as with a mask. Short convolutions are before it, and stay as they are.
  for (const auto& [key, row] : masked.scores) {
    if (std::get<1>(key) != 0) continue;
    for (std::size_t k = 0; k <= std::get<3>(key); ++k) ASSERT_NEAR(record.scores.at(key)[k], row[k], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Unmasked,
                         testing::Values("forward/llama", "forward/qwen2", "forward/qwen3", "forward/gpt2",
                                         "families/ministral3", "families/lfm2", "families/granitemoe"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

// transformers includes the distance that is stated, unless the key counts both sides (Gemma).
TEST(UnmaskedWindows, AreOnBothSides) {
  expect_softmax_on_both_sides(run_changed(kGolden / "forward/mistral", {{"sliding_window", 3}, {"is_causal", false}}),
                               3, 0);
  const json gemma = {{"sliding_window", 4}, {"layer_types", "absent"}, {"attn_logit_softcapping", nullptr}};
  for (const auto& [key, value, side] : {std::tuple{"use_bidirectional_attention", true, std::size_t{2}},
                                         std::tuple{"is_causal", false, std::size_t{4}}}) {
    json patch = gemma;
    patch[key] = value;
    expect_softmax_on_both_sides(run_changed(kGolden / "forward/gemma3_text", patch), side, 0);
  }
  expect_softmax_on_both_sides(run_changed(kGolden / "families/modernbert_decoder",
                                           {{"is_causal", false}, {"local_attention", 4}, {"layer_types", "absent"}}),
                               2, 1);
}

// The reference is the same model in safetensors.
TEST(UnmaskedGguf, ReadsInBothDirectionsIfItsKeySaysSo) {
  const fs::path golden = kGolden / "forward/qwen2";
  const TemporaryFolder folder;
  const fs::path file =
      folder.write("model.gguf", test::with_key(test::read(kGolden / "forward/gguf_qwen2/model.gguf"),
                                                "qwen2.attention.causal", GgufType::kBool, std::string(1, '\0')));
  const ForwardRecord record = run(file, first_input(golden));
  expect_softmax_on_both_sides(record, kAll, 0);
  const ForwardRecord expected = run_changed(golden, {{"is_causal", false}});
  for (const auto& [key, row] : expected.pattern) {
    for (std::size_t k = 0; k < row.size(); ++k) ASSERT_NEAR(record.pattern.at(key)[k], row[k], 1e-4);
  }
}

// llama.cpp's converter puts the even rows of each head's rotated part of Q and K before the odd ones.
TEST(GgufSections, PairTheRowsOfGlmAsItsConverterPermutesThem) {
  const fs::path golden = kGolden / "families/gguf_glm4/model.gguf";
  std::string bytes = test::read(golden);
  const Checkpoint checkpoint = Checkpoint::open(golden);
  constexpr std::size_t kHead = 8;
  constexpr std::size_t kRotated = 4;
  std::size_t permuted = 0;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (tensor->name.find("attn_q.") == std::string::npos && tensor->name.find("attn_k.") == std::string::npos)
      continue;
    const std::string raw(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
    const std::size_t row = raw.size() / tensor->shape[0];
    std::string moved = raw;
    for (std::size_t i = 0; i < tensor->shape[0]; ++i) {
      const std::size_t place = i % kHead;
      if (place >= kRotated) continue;
      const std::size_t from = 2 * (place % (kRotated / 2)) + place / (kRotated / 2);
      moved.replace(i * row, row, raw, (i - place + from) * row, row);
    }
    const std::size_t at = bytes.find(raw);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, raw.size(), moved);
    ++permuted;
  }
  EXPECT_GE(permuted, 4U);
  std::string sections = test::Bytes().add<std::uint32_t>(5).add<std::uint64_t>(4).str();  // four int32
  for (const std::int32_t one : {1, 1, 0, 0}) sections += test::Bytes().add<std::int32_t>(one).str();
  const TemporaryFolder folder;
  const fs::path file =
      folder.write("model.gguf", test::with_key(bytes, "glm4.rope.dimension_sections", GgufType::kArray, sections));
  const ModelInput input = first_input(kGolden / "families/glm4");
  const ForwardRecord expected = run(golden, input);
  const ForwardRecord record = run(file, input);
  for (const auto& [key, row] : expected.scores) {
    for (std::size_t k = 0; k <= std::get<3>(key); ++k) ASSERT_NEAR(record.scores.at(key)[k], row[k], 1e-4);
  }
  EXPECT_TRUE(rotary_of(Model::open(golden)).interleaved);
  EXPECT_FALSE(rotary_of(Model::open(file)).interleaved);  // what rope-cs averages over
}

}  // namespace
}  // namespace headscope
