#include "headscope/model/fingerprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

std::string fingerprint_of(const test::TinyGpt2& tiny) {
  const test::TemporaryFolder folder;
  tiny.write(folder);
  return fingerprint(Model::open(folder.path()));
}

TEST(Fingerprint, DoesNotDependOnWhereTheModelLies) {
  EXPECT_EQ(fingerprint_of({}), fingerprint_of({}));
  EXPECT_EQ(fingerprint_of({}).size(), 16u);
}

TEST(Fingerprint, ChangesWithConfigNamesShapesAndWeights) {
  const std::string original = fingerprint_of({});
  test::TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_embd": 4, "n_layer": 2, "n_head": 1})";
  EXPECT_NE(fingerprint_of(tiny), original);
  tiny = {};
  tiny.shapes["extra"] = {1};
  EXPECT_NE(fingerprint_of(tiny), original);
  tiny = {};
  tiny.shapes["transformer.wte.weight"] = {4, 7};
  EXPECT_NE(fingerprint_of(tiny), original);
  tiny = {};
  tiny.values["transformer.wte.weight"] = std::vector<float>(28, 1);
  EXPECT_NE(fingerprint_of(tiny), original);
}

// Samples of a tensor would not see it.
TEST(Fingerprint, ChangesWithEveryNumberOfTheHeads) {
  test::TinyGpt2 wide;
  wide.config = R"({"model_type": "gpt2", "n_embd": 128, "n_layer": 1, "n_head": 2})";
  wide.shapes = {{"transformer.h.0.attn.c_attn.weight", {128, 384}},
                 {"transformer.h.0.attn.c_proj.weight", {128, 128}},
                 {"transformer.h.0.ln_1.weight", {128}}};
  const std::string original = fingerprint_of(wide);
  for (const std::size_t changed : {0U, 5U, 7777U, 20001U, 128U * 384U - 1U}) {
    std::vector<float> values(std::size_t{128} * 384);
    values[changed] = 1e-30F;
    test::TinyGpt2 other = wide;
    other.values["transformer.h.0.attn.c_attn.weight"] = values;
    EXPECT_NE(fingerprint_of(other), original) << changed;
  }
}

// One layer of 64 heads, whose Q, K, V and O of 8192 x 8192 have 256 MB each: too much to read all of it. The file is a
// hole, which takes no disk.
class LargeModel {
 public:
  LargeModel() {
    static_cast<void>(
        folder_.write("config.json", R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 1,
        "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 4})"));
    std::string header = "{";
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      header += fmt::format(R"({}"model.layers.0.self_attn.{}.weight":{{"dtype":"F32","shape":[{},{}],)"
                            R"("data_offsets":[{},{}]}})",
                            i == 0 ? "" : ",", kNames[i], kWidth, kWidth, i * kBytes, (i + 1) * kBytes);
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t size = header.size();
    begin_ = sizeof size + header.size();
    const std::filesystem::path path =
        folder_.write("model.safetensors", std::string(reinterpret_cast<const char*>(&size), sizeof size) + header);
    std::filesystem::resize_file(path, begin_ + kNames.size() * kBytes);
    file_.open(path, std::ios::in | std::ios::out | std::ios::binary);
  }

  // Writes ones over `rows` rows and `columns` columns of a tensor.
  void fill(std::size_t tensor, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
    const std::vector<float> ones(columns, 1.0F);
    for (std::size_t i = row; i < row + rows; ++i) {
      file_.seekp(static_cast<std::streamoff>(begin_ + tensor * kBytes + (i * kWidth + column) * sizeof(float)));
      file_.write(reinterpret_cast<const char*>(ones.data()), static_cast<std::streamsize>(columns * sizeof(float)));
    }
    file_.flush();
  }

  [[nodiscard]] std::string print() const { return fingerprint(Model::open(folder_.path())); }

  static constexpr std::size_t kWidth = 8192;

 private:
  static constexpr std::array<const char*, 4> kNames = {"k_proj", "o_proj", "q_proj", "v_proj"};
  static constexpr std::size_t kBytes = kWidth * kWidth * sizeof(float);

  test::TemporaryFolder folder_;
  std::fstream file_;
  std::size_t begin_ = 0;
};

TEST(Fingerprint, OfALargeModelChangesWithEveryHead) {
  LargeModel model;
  std::set<std::string> seen = {model.print()};
  EXPECT_EQ(model.print(), *seen.begin());
  for (const std::size_t head : {0U, 31U, 63U}) {
    model.fill(0, head * 128, 128, 0, LargeModel::kWidth);  // rows of K
    EXPECT_TRUE(seen.insert(model.print()).second) << "K of head " << head;
    model.fill(1, 0, LargeModel::kWidth, head * 128, 128);  // columns of O
    EXPECT_TRUE(seen.insert(model.print()).second) << "O of head " << head;
  }
}

}  // namespace
}  // namespace headscope
