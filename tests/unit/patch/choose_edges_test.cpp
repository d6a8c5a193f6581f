#include "headscope/patch/choose_edges.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/patch_case.h"

namespace headscope {
namespace {

using test::PatchCase;

TEST(ChooseEdges, TopThenScreenThenControlsWithoutDuplicates) {
  const PatchCase one("llama");  // three layers of four heads and two KV heads
  const Model& model = one.model();
  const HeadSizes& sizes = model.info().sizes;
  const RecordedPass record(model, one.inputs);
  const HeadChange change(record, Replacement::kMean);
  const std::vector<Role> roles = {Role::kQ, Role::kV};
  const std::vector<Screen> screens = screen(record, change, roles);
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kV}};
  const Wiring wiring = judge_wiring(model, pairs, WeightProcessing::kFolded, {.draws = 2});
  const std::vector<ChosenEdge> chosen = choose_edges(wiring, screens, sizes, {.top = 3, .controls = 1, .seed = 4});
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_NO_THROW(check_edge(chosen[i].edge, sizes));
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(chosen[i].edge == chosen[j].edge);
    if (chosen[i].kind != EdgeKind::kControl) {
      EXPECT_EQ(chosen[i].sample, chosen[i].kind);
    }
  }
  const auto count = [&](Role role, EdgeKind kind) {
    return std::ranges::count_if(chosen, [&](const ChosenEdge& c) { return c.edge.role == role && c.kind == kind; });
  };
  for (const Role role : roles) {
    EXPECT_EQ(count(role, EdgeKind::kTop), 3);
    EXPECT_EQ(count(role, EdgeKind::kControl), 3 + count(role, EdgeKind::kScreen));
  }
  // The first of each list is the maximum.
  const Matrix& local = screens[0].values;
  const float largest = *std::ranges::max_element(local.values());
  const bool has_largest = std::ranges::any_of(chosen, [&](const ChosenEdge& c) {
    return c.edge.role == Role::kQ &&
           local(c.edge.source.layer * 4 + c.edge.source.head, c.edge.target.layer * 4 + c.edge.target.head) == largest;
  });
  EXPECT_TRUE(has_largest);
  EXPECT_EQ(choose_edges(wiring, screens, sizes, {.top = 3, .controls = 1, .seed = 4}).size(), chosen.size());
}

TEST(ChooseEdges, WhereLayersHaveNoOtherPairThereAreFewerControls) {
  const HeadSizes sizes{.layers = 2, .heads = 2, .kv_heads = 1, .d_model = 4, .d_head = 2};
  const std::vector<PatchEdge> given = {{{0, 0}, Role::kK, {1, 0, true}}};
  const std::vector<ChosenEdge> all = with_controls(given, sizes, {.controls = 5});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].edge, (PatchEdge{{0, 1}, Role::kK, {1, 0, true}}));
  EXPECT_EQ(all[1].kind, EdgeKind::kControl);
  EXPECT_EQ(all[1].sample, EdgeKind::kGiven);
}

}  // namespace
}  // namespace headscope
