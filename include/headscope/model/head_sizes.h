#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/model/block.h"
#include "headscope/model/head_id.h"
#include "headscope/model/role.h"

namespace headscope {

/// Sizes of one layer, in a model whose layers differ.
struct LayerSizes {
  std::size_t d_head = 0;
  std::size_t kv_heads = 0;  ///< 0 if its queries use the keys and values of an earlier layer.
  std::size_t kv_layer = 0;  ///< The layer whose K and V its queries use.

  friend bool operator==(const LayerSizes&, const LayerSizes&) = default;
};

/// Number of heads of a model and their sizes.
struct HeadSizes {
  std::size_t layers = 0;    ///< Layers of attention, of all blocks together.
  std::size_t heads = 0;     ///< Query heads per layer.
  std::size_t kv_heads = 0;  ///< Key/value heads per layer, at most; query head a uses KV head a / (heads / kv_heads).
  std::size_t d_model = 0;   ///< Width of the residual stream.
  std::size_t d_head = 0;    ///< Width of V and O, and of Q and K unless the next two say otherwise; not necessarily
                             ///< d_model / heads. The largest, if layers differ.
  std::size_t d_key = 0;     ///< Width of K if it is not d_head; otherwise 0.
  /// Width of a rotary key that all heads of a layer share (latent attention); 0 if there is none. It is not part of K.
  /// Q is wider than K by this: its last components are compared with the shared key.
  std::size_t d_rotary = 0;
  std::vector<LayerSizes> by_layer = {};  ///< Empty if all layers are alike.
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

  /// Width of a role's matrices; the largest, if layers differ.
  [[nodiscard]] std::size_t width(Role role) const noexcept { return role_width(role, d_head); }
  [[nodiscard]] std::size_t width(std::size_t layer, Role role) const noexcept {
    return role_width(role, layer < by_layer.size() ? by_layer[layer].d_head : d_head);
  }
  /// Width of the widest matrix.
  [[nodiscard]] std::size_t widest() const noexcept { return std::max(d_head, width(Role::kQ)); }
  /// Whether all roles of all layers have the same width.
  [[nodiscard]] bool one_width() const noexcept {
    const auto is_same = [this](const LayerSizes& layer) { return layer.d_head == d_head; };
    return d_key == 0 && d_rotary == 0 && std::ranges::all_of(by_layer, is_same);
  }

  /// Heads per layer that have a matrix for this role; at most, if layers differ.
  [[nodiscard]] std::size_t heads_of(Role role) const noexcept { return is_key_value(role) ? kv_heads : heads; }
  [[nodiscard]] std::size_t heads_of(std::size_t layer, Role role) const noexcept {
    return is_key_value(role) && layer < by_layer.size() ? by_layer[layer].kv_heads : heads_of(role);
  }
  /// The layer whose K and V the queries of a layer use.
  [[nodiscard]] std::size_t kv_layer(std::size_t layer) const noexcept {
    return layer < by_layer.size() ? by_layer[layer].kv_layer : layer;
  }
  /// Number of query heads of a layer that use the same KV head.
  [[nodiscard]] std::size_t queries_per_kv(std::size_t layer) const noexcept {
    return heads / heads_of(kv_layer(layer), Role::kK);
  }

  friend bool operator==(const HeadSizes&, const HeadSizes&) = default;

 private:
  [[nodiscard]] std::size_t role_width(Role role, std::size_t head) const noexcept {
    const std::size_t key = d_key > 0 ? d_key : head;
    return role == Role::kQ ? key + d_rotary : role == Role::kK ? key : head;
  }
};

}  // namespace headscope
