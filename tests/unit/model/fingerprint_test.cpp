#include "headscope/model/fingerprint.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headscope
