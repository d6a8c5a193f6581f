// Latent attention: the rounding errors of composed matrices, their ranks, and files that contradict themselves.
// golden_test.cpp compares the matrices themselves with PyTorch's.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/model/model.h"
#include "support/expect_error.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::SafetensorsWriter;
using test::TemporaryFolder;

const fs::path kFamilies = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/families";

constexpr std::size_t kModel = 96;
constexpr std::size_t kRank = 40;
constexpr std::size_t kHeads = 2;
constexpr std::size_t kKey = 16;
constexpr std::size_t kShared = 4;
constexpr std::size_t kValue = 12;

// The upper half of a float, rounded to nearest.
std::uint16_t to_bf16(float value) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0x8000U) >> 16U);
}

// One layer of DeepSeek, stored as F32 or BF16. Latents from `used` on have a gain of 0.
Model latent_model(const TemporaryFolder& folder, bool narrow, std::size_t used = kRank) {
  SafetensorsWriter writer;
  const auto add = [&](const std::string& name, const Shape& shape, std::uint64_t seed, bool gain = false) {
    std::vector<float> values = test::normals(*element_count(shape), seed);
    if (gain) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < used ? 1 + values[i] / 8 : 0;
    }
    const std::string full = "model.layers.0." + name + ".weight";
    if (!narrow) {
      writer.add(full, shape, values);
      return;
    }
    std::string raw(values.size() * 2, '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t bits = to_bf16(values[i]);
      std::memcpy(raw.data() + 2 * i, &bits, 2);
    }
    writer.add_raw(full, "BF16", shape, raw);
  };
  add("self_attn.q_proj", {kHeads * (kKey + kShared), kModel}, 1);
  add("self_attn.kv_a_proj_with_mqa", {kRank + kShared, kModel}, 2);
  add("self_attn.kv_a_layernorm", {kRank}, 3, /*gain=*/true);
  add("self_attn.kv_b_proj", {kHeads * (kKey + kValue), kRank}, 4);
  add("self_attn.o_proj", {kModel, kHeads * kValue}, 5);
  add("input_layernorm", {kModel}, 6);
  folder.write("model.safetensors", writer.str());
  folder.write("config.json", Json{{"model_type", "deepseek_v3"},
                                   {"hidden_size", kModel},
                                   {"num_hidden_layers", 1},
                                   {"num_attention_heads", kHeads},
                                   {"qk_nope_head_dim", kKey},
                                   {"qk_rope_head_dim", kShared},
                                   {"v_head_dim", kValue}}
                                  .dump());
  return Model::open(folder.path());
}

// The largest singular value.
double norm_of(const std::vector<double>& matrix, std::size_t rows, std::size_t columns) {
  std::vector<double> v(columns, 1);
  double norm = 0;
  for (int step = 0; step < 200; ++step) {
    std::vector<double> image(rows);
    std::vector<double> next(columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) image[i] += matrix[i * columns + j] * v[j];
    }
    double squares = 0;
    for (const double value : v) squares += value * value;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) next[j] += matrix[i * columns + j] * image[i] / squares;
    }
    norm = 0;
    for (const double value : image) norm += value * value / squares;
    v = next;
  }
  return std::sqrt(norm);
}

TEST(LatentAttention, BoundsTheNormOfWhatRoundingAdds) {
  const TemporaryFolder wide;
  const TemporaryFolder narrow;
  const Model exact = latent_model(wide, false);
  const Model rounded = latent_model(narrow, true);
  for (const Role role : {Role::kK, Role::kV}) {
    const HeadWeights a = exact.load_heads(0, role, WeightProcessing::kRaw);
    const HeadWeights b = rounded.load_heads(0, role, WeightProcessing::kRaw);
    for (std::size_t head = 0; head < kHeads; ++head) {
      EXPECT_EQ(a.noise(head), 0);
      std::vector<double> errors;
      for (std::size_t i = 0; i < a.columns(head).size(); ++i) {
        errors.push_back(static_cast<double>(a.columns(head)[i]) - static_cast<double>(b.columns(head)[i]));
      }
      const double found = norm_of(errors, a.d_head(), kModel);
      EXPECT_GT(b.noise(head), found) << letter(role);
      EXPECT_LT(b.noise(head), 4 * found) << letter(role);
    }
  }
}

TEST(LatentAttention, HasTheRankOfItsLatent) {
  constexpr std::size_t kUsed = 7;
  for (const bool narrow : {false, true}) {
    for (const std::size_t used : {kUsed, kRank}) {
      const TemporaryFolder folder;
      const Model model = latent_model(folder, narrow, used);
      for (const Role role : {Role::kK, Role::kV}) {
        const HeadWeights heads = model.load_heads(0, role);
        for (std::size_t head = 0; head < kHeads; ++head) {
          std::vector<float> basis(heads.columns(head).size());
          const double tolerance = narrow ? 0 : static_cast<double>(kModel) * 0x1p-23;
          EXPECT_EQ(orthonormal_basis(heads.columns(head), kModel, heads.d_head(), tolerance, basis, heads.noise(head)),
                    std::min(used, heads.d_head()))
              << letter(role) << " narrow " << narrow;
        }
      }
    }
  }
}

TEST(LatentAttention, StatesItsWidths) {
  const TemporaryFolder folder;
  const HeadSizes sizes = latent_model(folder, false).info().sizes;
  EXPECT_EQ(sizes.width(Role::kQ), kKey + kShared);
  EXPECT_EQ(sizes.width(Role::kK), kKey);
  EXPECT_EQ(sizes.width(Role::kV), kValue);
  EXPECT_EQ(sizes.width(Role::kO), kValue);
  EXPECT_EQ(sizes.widest(), kKey + kShared);
  EXPECT_FALSE(sizes.one_width());
}

// Opens a golden model with keys of its configuration changed; null removes one.
ModelInfo changed(const std::string& name, const Json& patch) {
  const TemporaryFolder folder;
  fs::copy_file(kFamilies / name / "model.safetensors", folder.path() / "model.safetensors");
  std::ifstream file(kFamilies / name / "config.json");
  Json config = Json::parse(file);
  if (patch.is_object()) config.merge_patch(patch);  // {} is null
  folder.write("config.json", config.dump());
  return Model::open(folder.path()).info();
}

TEST(LatentAttention, TakesWidthsFromTheTensors) {
  const Json without = {{"qk_nope_head_dim", nullptr}, {"qk_rope_head_dim", nullptr}, {"v_head_dim", nullptr}};
  EXPECT_EQ(changed("deepseek_v3", without).sizes, changed("deepseek_v3", {}).sizes);
  EXPECT_EQ(changed("deepseek_v3_plain", without).sizes, changed("deepseek_v3_plain", {}).sizes);
}

TEST(LatentAttention, RefusesWidthsThatTheTensorsContradict) {
  for (const auto& [patch, text] : std::vector<std::pair<Json, std::string>>{
           {{{"qk_rope_head_dim", 6}}, "expected [20, 7]"},
           {{{"qk_nope_head_dim", 5}}, "expected [18, 7]"},
           {{{"v_head_dim", 4}}, "expected [8, 8]"},
           {{{"v_head_dim", 0}}, "'v_head_dim' is 0"},
           {{{"v_head_dim", 1000000000}}, "expected [8, 2000000000]"},
           {{{"num_attention_heads", 3}}, "expected [8, 9]"},
           {{{"num_attention_heads", nullptr}}, "does not have the number of heads"},
           {{{"hidden_size", 9}}, "expected ["}}) {
    EXPECT_ERROR(changed("deepseek_v3", patch), ErrorKind::kFormat, text);
  }
}

TEST(SharedKeys, MustHaveALayerToComeFrom) {
  for (const auto& [patch, text] : std::vector<std::pair<Json, std::string>>{
           {{{"num_kv_shared_layers", 4}}, "4 of 4 layers have no keys"},
           {{{"num_kv_shared_layers", 3}}, "layer 1 uses the keys of an earlier layer like it, but there is none"},
           {{{"layer_types", Json::array({"sliding_attention"})}}, "has 1 entries for 4 layers"},
           {{{"layer_types", Json::array({"a", "b", "b", "a"})}}, "but uses the keys of layer 1, of width 8"}}) {
    EXPECT_ERROR(changed("gemma4", patch), ErrorKind::kFormat, text);
  }
}

TEST(SharedKeys, ComeFromTheLastLayerWithTheSameKindOfWindow) {
  const HeadSizes sizes = changed("gemma4", {}).sizes;
  EXPECT_EQ(sizes.kv_layer(1), 1u);
  EXPECT_EQ(sizes.kv_layer(2), 0u);
  EXPECT_EQ(sizes.kv_layer(3), 1u);
  EXPECT_EQ(sizes.heads_of(2, Role::kK), 0u);
  EXPECT_EQ(sizes.heads_of(2, Role::kQ), 2u);
  EXPECT_EQ(sizes.width(2, Role::kQ), 4u);
  EXPECT_EQ(sizes.width(3, Role::kO), 8u);
  EXPECT_EQ(sizes.queries_per_kv(3), 2u);
}

}  // namespace
}  // namespace headscope
