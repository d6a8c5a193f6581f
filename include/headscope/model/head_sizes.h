#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headscope/model/block.h"
#include "headscope/model/head_id.h"
#include "headscope/model/role.h"

namespace headscope {

/// Number of heads of a model and their sizes.
struct HeadSizes {
  std::size_t layers = 0;    ///< Layers of attention, of all blocks together.
  std::size_t heads = 0;     ///< Query heads per layer.
  std::size_t kv_heads = 0;  ///< Key/value heads per layer; query head a uses KV head a / (heads / kv_heads).
  std::size_t d_model = 0;   ///< Width of the residual stream.
  std::size_t d_head = 0;    ///< Width of a head; not necessarily d_model / heads.
  /// Of a model with an encoder and a decoder: layers are counted through the encoder, then the self-attention of the
  /// decoder, then its cross-attention. Both 0 if there is one block.
  std::size_t encoder_layers = 0;
  std::size_t decoder_layers = 0;

  [[nodiscard]] bool has_blocks() const noexcept { return decoder_layers > 0; }
  /// Number of layers of a block.
  [[nodiscard]] std::size_t layers_of(Block block) const noexcept;
  /// The block of a layer, and its number there.
  [[nodiscard]] BlockLayer place(std::size_t layer) const noexcept;
  /// The layer of a block, counted through all blocks; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> layer_of(BlockLayer place) const noexcept;
  /// The layer of a head, counted through all blocks; nothing if the model has no such head.
  [[nodiscard]] std::optional<std::size_t> layer_of(HeadId id) const noexcept;
  /// A head of a layer that is counted through all blocks.
  [[nodiscard]] HeadId head_of(std::size_t layer, std::size_t head, bool key_value = false) const noexcept {
    const BlockLayer own = place(layer);
    return {own.layer, head, key_value, own.block};
  }
  /// E.g. "12 layers of 8 heads", or "6 encoder and 6 decoder layers of 8 heads".
  [[nodiscard]] std::string text() const;

  /// Heads per layer that have a matrix for this role.
  [[nodiscard]] std::size_t heads_of(Role role) const noexcept { return is_key_value(role) ? kv_heads : heads; }

  friend bool operator==(const HeadSizes&, const HeadSizes&) = default;
};

}  // namespace headscope
