// Head matrices of tiny checkpoints that Hugging Face transformers wrote, against slices of the live PyTorch modules.
// tests/golden/make_hf_checkpoints.py, make_gguf_checkpoints.py, make_families.py and make_towers.py make both.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/io/npz.h"
#include "headscope/model/model.h"
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

// The GGUF case gguf_NAME of families/ has the arrays of NAME.
fs::path arrays_of(const fs::path& path) {
  const auto [folder, tower] = testing_support::tower_case(path);
  if (!tower.empty()) return folder / ("expected_" + tower + ".npz");
  const std::string name = folder.filename().string();
  const bool shared = folder.parent_path().filename() == "families" && name.starts_with("gguf_");
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
    const std::string raw = name.substr(name.size() - 1);  // a folded matrix may be equal to the raw one
    auto array = own_.find(name);
    if (!array) array = own_.find(raw);
    if (!array) array = expected_.find(name);
    if (!array) array = expected_.find(raw);
    EXPECT_TRUE(array.has_value()) << name;
    EXPECT_EQ(array->view().shape, (Shape{sizes.layers, sizes.heads_of(role), sizes.d_model, sizes.d_head}));
    const std::vector<float> values = npy_values<float>(array->view(), name);
    Difference difference;
    auto next = values.begin();
    for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
      const HeadWeights weights = model_.load_heads(layer, role, processing);
      EXPECT_EQ(weights.heads(), sizes.heads_of(role));
      const HeadWeights together = std::move(model_.load_layer(layer, processing)[static_cast<std::size_t>(role)]);
      EXPECT_TRUE(std::ranges::equal(together.values(), weights.values()));
      for (std::size_t head = 0; head < weights.heads(); ++head) {
        for (std::size_t i = 0; i < sizes.d_model; ++i) {
          for (std::size_t j = 0; j < sizes.d_head; ++j, ++next) {
            const double found = weights.head(head)(i, j);
            difference.largest = std::max(difference.largest, std::abs(found - *next));
            difference.scale = std::max<double>(difference.scale, std::abs(*next));
          }
        }
      }
    }
    return difference;
  }

  fs::path folder_;
  Model model_;
  NpzFile expected_;
  NpzFile own_;  // of a GGUF file with permuted rows
};

TEST_P(Golden, RawMatricesAreExactlyPyTorchs) {
  for (const Role role : kRoles) {
    const Difference found = difference(role, std::string(1, letter(role)), WeightProcessing::kRaw);
    EXPECT_EQ(found.largest, 0) << letter(role);
    EXPECT_GT(found.scale, 0.1) << letter(role);
  }
}

TEST_P(Golden, FoldedMatricesArePyTorchsToRounding) {
  for (const Role role : kRoles) {
    const Difference found = difference(role, std::string("folded_") + letter(role), WeightProcessing::kFolded);
    // The gain is applied in float: one rounding of a product, and one of the result.
    EXPECT_LE(found.largest, 4 * found.scale * 0x1p-24) << letter(role);
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
