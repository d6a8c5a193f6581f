#include "headscope/model/fingerprint.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

std::string fingerprint_of(const test::TinyGpt2& tiny) {
  const test::TemporaryFolder folder;
  tiny.write(folder);
  return fingerprint(Checkpoint::open(folder.path()));
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

}  // namespace
}  // namespace headscope
