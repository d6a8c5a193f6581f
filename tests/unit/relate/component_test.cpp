#include "headscope/relate/component.h"

#include <gtest/gtest.h>

#include <string>

namespace headscope {
namespace {

ComponentId component(const char* name) {
  return parse_component(name).value();
}

TEST(Component, NamesOfBlocksAreReadBack) {
  for (const std::string name : {"L4M", "L4M12", "L4R", "E", "P", "U", "L4H7", "encoder.L4M", "decoder.L0M",
                                 "decoder.L3M2", "cross.L1H2", "encoder.L0KV1"}) {
    EXPECT_EQ(to_string(component(name.c_str())), name);
  }
  for (const char* name : {"encoder.", "encoder.U", "elsewhere.L4M", ".L4M", "encoder.L4", "encoder.decoder.L4M"}) {
    EXPECT_FALSE(parse_component(name)) << name;
  }
}

TEST(Component, EveryMlpBelongsToALayer) {
  const HeadSizes blocks{.layers = 7, .heads = 2, .kv_heads = 2, .encoder_layers = 3, .decoder_layers = 2};
  for (const std::size_t layer : {0u, 2u, 5u, 6u}) EXPECT_EQ(layer_of_mlp(mlp_of(layer, blocks), blocks), layer);
  EXPECT_EQ(to_string(mlp_of(6, blocks)), "decoder.L1M");
  for (const char* name : {"L0M", "encoder.L3M", "decoder.L2M", "cross.L0M"}) {
    EXPECT_FALSE(layer_of_mlp(component(name), blocks)) << name;
  }
  const HeadSizes one{.layers = 3, .heads = 2, .kv_heads = 2};
  EXPECT_EQ(to_string(mlp_of(2, one)), "L2M");
  EXPECT_EQ(layer_of_mlp(component("L2M"), one), 2u);
}

TEST(Component, WhatIsReadIsInTheSameStream) {
  const auto flows = [](const char* source, const char* target) {
    return precedes(component(source), component(target), /*parallel=*/false);
  };
  EXPECT_TRUE(flows("encoder.L1H0", "encoder.L1M"));
  EXPECT_TRUE(flows("decoder.L1H0", "decoder.L1M"));
  EXPECT_TRUE(flows("cross.L1H0", "decoder.L1M"));
  EXPECT_TRUE(flows("cross.L1H0", "U"));
  EXPECT_FALSE(flows("encoder.L0H0", "decoder.L1M"));
  EXPECT_FALSE(flows("decoder.L0H0", "encoder.L1M"));
  EXPECT_FALSE(flows("cross.L1H0", "decoder.L0M"));
  EXPECT_FALSE(flows("encoder.L0H0", "U"));
}

}  // namespace
}  // namespace headscope
