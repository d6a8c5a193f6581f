#include "headscope/patch/patch_edge.h"

#include <gtest/gtest.h>

#include "headscope/model/head_sizes.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

HeadSizes grouped() {
  return {.layers = 3, .heads = 4, .kv_heads = 2, .d_model = 8, .d_head = 2};
}

// Two layers in the encoder and three in the decoder.
HeadSizes with_blocks() {
  return {.layers = 8, .heads = 2, .kv_heads = 2, .d_model = 8, .d_head = 4, .encoder_layers = 2, .decoder_layers = 3};
}

PatchEdge edge(const char* source, Role role, const char* target) {
  return {parse_head(source).value(), role, parse_head(target).value()};
}

TEST(PatchEdge, RowsAndColumnsNameAllEdges) {
  for (const HeadSizes& sizes : {grouped(), with_blocks()}) {
    for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
      std::size_t edges = 0;
      for (std::size_t row = 0; row < sizes.layers * sizes.heads; ++row) {
        for (std::size_t column = 0; column < sizes.layers * sizes.heads_of(role); ++column) {
          const auto found = edge_at(role, row, column, sizes);
          if (!found) continue;
          ++edges;
          EXPECT_NO_THROW(check_edge(*found, sizes));
          EXPECT_EQ(row_of(*found, sizes), row);
          EXPECT_EQ(column_of(*found, sizes), column);
        }
      }
      // Pairs of layers: 3 of one block. 1 in the encoder; 3 * 3 into self-attention ... or 2 * 3 from the encoder.
      const std::size_t pairs = !sizes.has_blocks() ? 3 : role == Role::kQ ? 1 + 6 + 9 : 1 + 6 + 6;
      EXPECT_EQ(edges, pairs * sizes.heads * sizes.heads_of(role)) << letter(role);
    }
  }
}

TEST(PatchEdge, FlowsBetweenTheBlocks) {
  const HeadSizes sizes = with_blocks();
  for (const PatchEdge& one :
       {edge("encoder.L0H1", Role::kV, "encoder.L1H0"), edge("encoder.L1H1", Role::kK, "cross.L0H0"),
        edge("encoder.L0H0", Role::kV, "cross.L2H1"), edge("decoder.L1H0", Role::kQ, "cross.L1H1"),
        edge("decoder.L0H0", Role::kK, "decoder.L2H1"), edge("cross.L0H0", Role::kV, "decoder.L1H0"),
        edge("cross.L0H0", Role::kQ, "cross.L1H0")}) {
    EXPECT_NO_THROW(check_edge(one, sizes)) << to_string(one.source) << " " << to_string(one.target);
  }
  const auto fails = [&](const PatchEdge& one, const char* message) {
    EXPECT_ERROR(check_edge(one, sizes), ErrorKind::kInvalidArgument, message);
  };
  fails(edge("decoder.L0H0", Role::kK, "cross.L2H1"),
        "cross.L2H1 takes its keys from the encoder, to which decoder.L0H0 does not write: nothing flows");
  fails(edge("decoder.L0H0", Role::kV, "encoder.L1H1"),
        "encoder.L1H1 takes its values from the encoder, to which decoder.L0H0 does not write");
  fails(edge("encoder.L0H0", Role::kQ, "cross.L1H1"),
        "cross.L1H1 takes its queries from the decoder, to which encoder.L0H0 does not write");
  fails(edge("cross.L1H0", Role::kQ, "decoder.L1H0"), "decoder.L1H0 is not in a later layer than cross.L1H0");
  fails(edge("decoder.L1H0", Role::kQ, "cross.L0H0"), "cross.L0H0 is not in a later layer than decoder.L1H0");
  fails(edge("L0H0", Role::kQ, "cross.L0H0"),
        "the model has no head L0H0: it has 2 encoder and 3 decoder layers of 2 heads; name one such as cross.L0H0");
  fails(edge("encoder.L0H0", Role::kQ, "L1H0"), "the model has no head L1H0 with role Q");
  fails(edge("encoder.L2H0", Role::kK, "cross.L0H0"), "the model has no head encoder.L2H0");
}

TEST(PatchEdge, Refusals) {
  const HeadSizes sizes = grouped();
  const auto check = [&](HeadId source, Role role, HeadId target) { check_edge({source, role, target}, sizes); };
  EXPECT_NO_THROW(check({0, 3}, Role::kK, {2, 1, true}));
  EXPECT_ERROR(check({1, 0}, Role::kQ, {1, 1}), ErrorKind::kInvalidArgument, "L1H1 is not in a later layer than L1H0");
  EXPECT_ERROR(check({2, 0}, Role::kV, {1, 1, true}), ErrorKind::kInvalidArgument,
               "L1KV1 is not in a later layer than L2H0");
  EXPECT_ERROR(check({0, 4}, Role::kQ, {1, 0}), ErrorKind::kInvalidArgument,
               "the model has no head L0H4: it has 3 layers of 4 heads");
  const char* const none = "it has 3 layers of 4 heads and 2 KV heads";
  EXPECT_ERROR(check({0, 0}, Role::kQ, {1, 4}), ErrorKind::kInvalidArgument, none);
  EXPECT_ERROR(check({0, 0}, Role::kQ, {3, 0}), ErrorKind::kInvalidArgument, none);
  EXPECT_ERROR(check({0, 0}, Role::kK, {1, 2, true}), ErrorKind::kInvalidArgument, none);
  EXPECT_ERROR(check({0, 0}, Role::kK, {1, 3}), ErrorKind::kInvalidArgument,
               "L1H3 shares its keys: name the KV head L1KV1");
  EXPECT_ERROR(check({0, 0, true}, Role::kQ, {1, 0}), ErrorKind::kInvalidArgument, "begins with a query head");
  EXPECT_ERROR(check({0, 0}, Role::kO, {1, 0}), ErrorKind::kInvalidArgument, "ends in Q, K or V");
}

}  // namespace
}  // namespace headscope
