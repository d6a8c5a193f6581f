#include "headscope/model/layer_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace headscope {
namespace {

std::vector<HeadSizes> all_sizes() {
  return {{.layers = 4, .heads = 2, .kv_heads = 2, .d_model = 8, .d_head = 4},
          {.layers = 7, .heads = 1, .kv_heads = 1, .encoder_layers = 3, .decoder_layers = 2},
          {.layers = 7, .heads = 1, .kv_heads = 1, .encoder_layers = 1, .decoder_layers = 3}};
}

TEST(LayerOrder, StepsAreTheOrderInWhichLayersRun) {
  const HeadSizes sizes = all_sizes()[1];
  const std::vector<std::size_t> layers = {0, 1, 2, 3, 5, 4, 6};  // encoder, then decoder and cross in turn
  for (std::size_t step = 0; step < layers.size(); ++step) {
    EXPECT_EQ(layer_at(sizes, step), layers[step]);
    EXPECT_EQ(step_of(sizes, layers[step]), step);
  }
  const HeadSizes one = all_sizes()[0];
  for (std::size_t layer = 0; layer < one.layers; ++layer) {
    EXPECT_EQ(step_of(one, layer), layer);
    EXPECT_EQ(layer_at(one, layer), layer);
  }
}

TEST(LayerOrder, StepsBeforeAreTheLayersThatPrecede) {
  for (const HeadSizes& sizes : all_sizes()) {
    for (std::size_t target = 0; target < sizes.layers; ++target) {
      for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
        const StepRange steps = steps_before(sizes, target, role);
        for (std::size_t source = 0; source < sizes.layers; ++source) {
          const std::size_t step = step_of(sizes, source);
          const bool is_before = step >= steps.begin && step < steps.end;
          EXPECT_EQ(is_before, precedes(sizes.place(source), Role::kO, sizes.place(target), role))
              << source << " to " << letter(role) << " of " << target;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headscope
