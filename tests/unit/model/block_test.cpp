#include "headscope/model/block.h"

#include <gtest/gtest.h>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope {
namespace {

constexpr BlockLayer kEncoder1{Block::kEncoder, 1};
constexpr BlockLayer kDecoder1{Block::kDecoder, 1};
constexpr BlockLayer kCross1{Block::kCross, 1};

TEST(Block, TheEncoderRunsBeforeTheDecoderWhoseSelfAttentionRunsBeforeItsCrossAttention) {
  EXPECT_TRUE(runs_before({Block::kOnly, 1}, {Block::kOnly, 2}));
  EXPECT_FALSE(runs_before({Block::kOnly, 2}, {Block::kOnly, 2}));
  EXPECT_TRUE(runs_before({Block::kEncoder, 9}, {Block::kDecoder, 0}));
  EXPECT_TRUE(runs_before({Block::kEncoder, 9}, {Block::kCross, 0}));
  EXPECT_FALSE(runs_before({Block::kCross, 0}, {Block::kEncoder, 9}));
  EXPECT_TRUE(runs_before(kDecoder1, kCross1));
  EXPECT_FALSE(runs_before(kCross1, kDecoder1));
  EXPECT_TRUE(runs_before({Block::kCross, 0}, kDecoder1));
  EXPECT_FALSE(runs_before(kDecoder1, {Block::kCross, 0}));
}

TEST(Block, OnlyKAndVOfCrossAttentionJoinTheStreams) {
  for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
    EXPECT_TRUE(precedes({Block::kEncoder, 0}, Role::kO, kEncoder1, role));
    EXPECT_FALSE(precedes(kEncoder1, Role::kO, kDecoder1, role));
    EXPECT_EQ(precedes(kEncoder1, Role::kO, kCross1, role), role != Role::kQ);
    EXPECT_EQ(precedes(kDecoder1, Role::kO, kCross1, role), role == Role::kQ);
    EXPECT_TRUE(precedes({Block::kCross, 0}, Role::kO, kDecoder1, role));
  }
  EXPECT_TRUE(precedes(kEncoder1, Role::kK, kCross1, Role::kV));
  EXPECT_FALSE(precedes(kEncoder1, Role::kK, kCross1, Role::kO));
}

TEST(Block, HeadsAreNamedAfterIt) {
  for (const HeadId id : {HeadId{2, 3, false, Block::kCross}, HeadId{0, 1, true, Block::kEncoder}}) {
    EXPECT_EQ(parse_head(to_string(id)), id);
  }
  EXPECT_EQ(to_string(HeadId{2, 3, false, Block::kCross}), "cross.L2H3");
  EXPECT_EQ(parse_head("decoder.4.7"), (HeadId{4, 7, false, Block::kDecoder}));
  for (const char* text : {"cross", "cross.", "cross.L2", "other.L2H3", ".L2H3", "cross.cross.L2H3", "crossL2H3"}) {
    EXPECT_EQ(parse_head(text), std::nullopt) << text;
  }
  EXPECT_LT((HeadId{5, 0, false, Block::kEncoder}), (HeadId{0, 0, false, Block::kDecoder}));
}

TEST(Block, LayersAreCountedThroughTheBlocks) {
  const HeadSizes sizes{.layers = 8, .heads = 4, .kv_heads = 4, .encoder_layers = 2, .decoder_layers = 3};
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) EXPECT_EQ(sizes.layer_of(sizes.place(layer)), layer);
  EXPECT_EQ(sizes.layer_of(HeadId{2, 3, false, Block::kCross}), 7);
  EXPECT_EQ(sizes.layer_of(HeadId{2, 0, false, Block::kEncoder}), std::nullopt);
  EXPECT_EQ(sizes.layer_of(HeadId{0, 4, false, Block::kCross}), std::nullopt);
  EXPECT_EQ(sizes.layer_of(HeadId{0, 0}), std::nullopt);
  const HeadSizes plain{.layers = 3, .heads = 1, .kv_heads = 1};
  EXPECT_EQ(plain.layer_of(HeadId{2, 0}), 2);
  EXPECT_EQ(plain.layer_of(HeadId{2, 0, false, Block::kCross}), std::nullopt);
}

}  // namespace
}  // namespace headscope
