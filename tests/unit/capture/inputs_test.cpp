#include "headscope/capture/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headscope {
namespace {

DescribedInput input_of(const std::vector<std::string>& texts) {
  DescribedInput input;
  for (const std::string& text : texts) input.tokens.push_back({.id = 0, .text = text});
  return input;
}

TEST(Inputs, WarnsIfMoreThanATenthOfTheTokensIsUnknown) {
  const DescribedInput known = input_of({"a", "b"});
  const DescribedInput tenth = input_of({"[UNK]", "a", "a", "a", "a", "a", "a", "a", "a", "a"});
  const DescribedInput half = input_of({"<unk>", "a"});
  EXPECT_FALSE(unknown_tokens_warning({}));
  EXPECT_FALSE(unknown_tokens_warning(std::vector{known, tenth}));
  EXPECT_THAT(unknown_tokens_warning(std::vector{half}).value(),
              testing::StartsWith("up to 50 % of the tokens of the input are unknown"));
  EXPECT_THAT(unknown_tokens_warning(std::vector{known, half, tenth}).value(),
              testing::StartsWith("up to 50 % of the tokens of 1 of 3 inputs are unknown"));
}

TEST(Inputs, HaveUniqueNames) {
  std::vector<DescribedInput> inputs(6);
  inputs[1].file = inputs[2].file = "a.png";
  inputs[3].file = "a.png (2)";
  inputs[4].file = "ids.npy";
  inputs[4].source = "ids.npy[0]";
  inputs[5].file = "text.txt";
  inputs[5].source = "Some text.";
  name_inputs(inputs);
  std::vector<std::string> names;
  for (const DescribedInput& input : inputs) names.push_back(input.name);
  EXPECT_THAT(names, testing::ElementsAre("input 0", "a.png", "a.png (2)", "a.png (2) (2)", "ids.npy[0]", "text.txt"));
}

}  // namespace
}  // namespace headscope
