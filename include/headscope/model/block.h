#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "headscope/model/role.h"

namespace headscope {

/// The attention of a model with an encoder and a decoder consists of three blocks of layers. Every other model has one
/// block.
enum class Block {
  kOnly,
  kEncoder,  ///< Attention among the tokens of the source.
  kDecoder,  ///< Attention among the tokens of the target.
  kCross,    ///< Attention of the target's tokens to the source's: Q reads the decoder, K and V the encoder's output.
};

/// The blocks of a model with an encoder and a decoder, in the order of their heads.
inline constexpr std::array kNamedBlocks = {Block::kEncoder, Block::kDecoder, Block::kCross};

/// "encoder", "decoder", "cross"; empty for the only block.
[[nodiscard]] std::string_view to_string(Block block) noexcept;
/// The inverse, for the three named blocks.
[[nodiscard]] std::optional<Block> parse_block(std::string_view name) noexcept;

/// The residual stream that a matrix reads or writes. Matrices of different streams have nothing in common.
enum class Stream {
  kMain,  ///< The only one, or the decoder's.
  kEncoder,
};

[[nodiscard]] constexpr Stream stream_of(Block block, Role role) noexcept {
  return block == Block::kEncoder || (block == Block::kCross && is_key_value(role)) ? Stream::kEncoder : Stream::kMain;
}

/// A layer of a block.
struct BlockLayer {
  Block block = Block::kOnly;
  std::size_t layer = 0;
};

/// Whether layer `a` runs before layer `b`. All layers of the encoder run before those of the decoder, in which
/// self-attention runs before cross-attention.
[[nodiscard]] constexpr bool runs_before(BlockLayer a, BlockLayer b) noexcept {
  if (a.block == b.block) return a.layer < b.layer;
  if (a.block == Block::kEncoder || b.block == Block::kEncoder) return a.block == Block::kEncoder;
  return a.block == Block::kDecoder ? a.layer <= b.layer : a.layer < b.layer;
}

/// Whether what `source` does in role `from` can matter to what `target` does in role `to`: it runs before, in the same
/// residual stream. The one rule of what precedes what; everything that speaks of earlier and later heads uses it.
[[nodiscard]] constexpr bool precedes(BlockLayer source, Role from, BlockLayer target, Role to) noexcept {
  return stream_of(source.block, from) == stream_of(target.block, to) && runs_before(source, target);
}

}  // namespace headscope
