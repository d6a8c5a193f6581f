// Head matrices of tiny checkpoints that Hugging Face transformers wrote, against slices of the live PyTorch modules.
// tests/golden/make_hf_checkpoints.py, make_gguf_checkpoints.py, make_families.py and make_towers.py make both.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/npz.h"
#include "headscope/model/model.h"
#include "support/expect_error.h"
#include "support/tower_case.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden";

// "checkpoints/llama", "families/olmo2", "towers/llava_vision", ...
std::vector<std::string> cases() {
  std::vector<std::string> names = testing_support::tower_cases(kGolden / "towers");
  for (const std::string folder : {"checkpoints", "families"}) {
    for (const auto& entry : fs::directory_iterator(kGolden / folder)) {
      names.push_back(folder + "/" + entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path model_in(const fs::path& folder) {
  return fs::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
}

Model open_case(const fs::path& path) {
  const auto [folder, tower] = testing_support::tower_case(path);
  return Model::open(model_in(folder), {.tower = tower});
}

// The GGUF case gguf_NAME has the arrays of NAME, unless it has its own: those of files that reorder or round numbers.
fs::path arrays_of(const fs::path& path) {
  const auto [folder, tower] = testing_support::tower_case(path);
  if (!tower.empty()) return folder / ("expected_" + tower + ".npz");
  const std::string name = folder.filename().string();
  const bool in_families = folder.parent_path().filename() == "families";
  const bool shared = name.starts_with("gguf_") && (in_families || !fs::exists(folder / "expected.npz"));
  return folder.parent_path() / (shared ? name.substr(5) : name) / "expected.npz";
}

NpzFile own_arrays(const fs::path& folder) {
  return NpzFile::open(fs::exists(folder / "expected.npz") ? folder / "expected.npz" : arrays_of(folder));
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  Golden()
      : folder_(kGolden / GetParam()),
        model_(open_case(folder_)),
        expected_(NpzFile::open(arrays_of(folder_))),
        own_(own_arrays(folder_)) {}

  // Largest difference between a role's matrices and [layer, head, d_model, d_head] of the file, and largest value.
  struct Difference {
    double largest = 0;
    double scale = 0;
  };
  Difference difference(Role role, const std::string& name, WeightProcessing processing) const {
    const HeadSizes& sizes = model_.info().sizes;
    Difference difference;
    for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
      if (sizes.heads_of(layer, role) == 0) {
        EXPECT_FALSE(find(fmt::format("{}.{}", letter(role), layer)));  // neither has the live module any
        EXPECT_EQ(model_.load_layer(layer, processing)[static_cast<std::size_t>(role)].heads(), 0u);
        EXPECT_ERROR(static_cast<void>(model_.load_heads(layer, role, processing)), ErrorKind::kInvalidArgument,
                     "of its own: its queries use those of layer");
        continue;
      }
      const HeadWeights weights = model_.load_heads(layer, role, processing);
      EXPECT_EQ(weights.heads(), sizes.heads_of(layer, role));
      EXPECT_EQ(weights.d_head(), sizes.width(layer, role));
      const HeadWeights together = std::move(model_.load_layer(layer, processing)[static_cast<std::size_t>(role)]);
      EXPECT_TRUE(std::ranges::equal(together.values(), weights.values()));
      compare(weights, layer, name, difference);
    }
    return difference;
  }

  // The array of that name; a folded matrix may be equal to the raw one.
  std::optional<NpzFile::Array> find(const std::string& name) const {
    const std::string raw = name.starts_with("folded_") ? name.substr(7) : name;
    for (const NpzFile* file : {&own_, &expected_}) {
      for (const std::string& one : {name, raw}) {
        if (auto array = file->find(one)) return array;
      }
    }
    return std::nullopt;
  }

  // With [layer, head, d_model, width] of the file; where layers differ, each has an array of its own.
  void compare(const HeadWeights& weights, std::size_t layer, const std::string& name, Difference& difference) const {
    const Shape one = {weights.heads(), weights.d_model(), weights.d_head()};
    auto array = find(name);
    std::size_t first = 0;
    if (array) {
      EXPECT_EQ(array->view().shape, (Shape{model_.info().sizes.layers, one[0], one[1], one[2]})) << name;
      first = layer * one[0] * one[1] * one[2];
    } else {
      array = find(fmt::format("{}.{}", name, layer));
      ASSERT_TRUE(array.has_value()) << name << " of layer " << layer;
      EXPECT_EQ(array->view().shape, one) << name << " of layer " << layer;
    }
    const std::vector<float> values = npy_values<float>(array->view(), name);
    ASSERT_GE(values.size(), first + one[0] * one[1] * one[2]) << name;
    auto next = values.begin() + static_cast<std::ptrdiff_t>(first);
    for (std::size_t head = 0; head < one[0]; ++head) {
      for (std::size_t i = 0; i < one[1]; ++i) {
        for (std::size_t j = 0; j < one[2]; ++j, ++next) {
          const double found = weights.head(head)(i, j);
          difference.largest = std::max(difference.largest, std::abs(found - *next));
          difference.scale = std::max<double>(difference.scale, std::abs(*next));
        }
      }
    }
  }

  // Composed matrices are products in float, of up to 8 terms here; the file has them rounded from double. Each error
  // is at most 8 roundings of the sum of the terms' magnitudes, which is a few times the largest value.
  double tolerance(Role role, const Difference& found) const {
    return model_.info().loading_memory > 0 && role != Role::kO ? 32 * found.scale * 0x1p-24 : 0;
  }

  fs::path folder_;
  Model model_;
  NpzFile expected_;
  NpzFile own_;  // of a GGUF file with permuted rows
};

TEST_P(Golden, RawMatricesAreExactlyPyTorchs) {
  for (const Role role : kRoles) {
    const Difference found = difference(role, std::string(1, letter(role)), WeightProcessing::kRaw);
    EXPECT_LE(found.largest, tolerance(role, found)) << letter(role);
    EXPECT_GT(found.scale, 0.1) << letter(role);
  }
}

TEST_P(Golden, FoldedMatricesArePyTorchsToRounding) {
  for (const Role role : kRoles) {
    const Difference found = difference(role, std::string("folded_") + letter(role), WeightProcessing::kFolded);
    // The gain is applied in float: one rounding of a product, and one of the result.
    EXPECT_LE(found.largest, std::max(4 * found.scale * 0x1p-24, tolerance(role, found))) << letter(role);
  }
}

TEST_P(Golden, RotaryKeysAreExactlyPyTorchs) {
  const HeadSizes& sizes = model_.info().sizes;
  if (sizes.d_rotary == 0) {
    EXPECT_ERROR(static_cast<void>(model_.load_rotary_key(0)), ErrorKind::kInvalidArgument, "share no rotary key");
    return;
  }
  for (const bool folded : {false, true}) {
    Difference found;
    for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
      const auto processing = folded ? WeightProcessing::kFolded : WeightProcessing::kRaw;
      compare(model_.load_rotary_key(layer, processing), layer, folded ? "folded_R" : "R", found);
    }
    EXPECT_LE(found.largest, folded ? 4 * found.scale * 0x1p-24 : 0);
    EXPECT_GT(found.scale, 0.1);
  }
}

TEST_P(Golden, NothingIsMissing) {
  EXPECT_EQ(model_.info().missing, std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.substr(one.param.find('/') + 1); });

TEST(GoldenCases, CoverEveryFamily) {
  std::vector<std::string> seen;
  for (const std::string& name : cases()) {
    seen.push_back(open_case(kGolden / name).info().family);
  }
  for (const Family& family : known_families()) {
    EXPECT_NE(std::find(seen.begin(), seen.end(), family.name), seen.end()) << family.name;
  }
}

}  // namespace
}  // namespace headscope
