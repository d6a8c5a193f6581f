#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// What a component of a model is. In the order of the forward pass within a layer.
enum class ComponentKind { kEmbedding, kPosition, kQueryHead, kKvHead, kRotaryKey, kMlp, kExpert, kUnembedding };

/// "embedding", "position", "query", "kv", "rotary-key", "mlp", "expert" or "unembedding".
[[nodiscard]] std::string_view to_string(ComponentKind kind) noexcept;

/// Identifies a component that reads from or writes to the residual stream: a head, the rotary key that the heads
/// of a layer share, the MLP of a layer, the token embedding, the position embedding or the unembedding.
struct ComponentId {
  ComponentKind kind = ComponentKind::kQueryHead;
  std::size_t layer = 0;  ///< 0 for components outside of the layers.
  std::size_t head = 0;   ///< Number of the head or the expert; 0 for other components.
  Block block = Block::kOnly;

  ComponentId() = default;
  ComponentId(HeadId id) noexcept  // NOLINT(google-explicit-constructor): every head is a component
      : kind(id.key_value ? ComponentKind::kKvHead : ComponentKind::kQueryHead),
        layer(id.layer),
        head(id.head),
        block(id.block) {}
  /// A component that is not a head.
  explicit ComponentId(ComponentKind other, std::size_t in_layer = 0, Block in = Block::kOnly) noexcept
      : kind(other), layer(in_layer), block(in) {}

  /// One expert of a layer's MLP; a shared expert has the number after the last of the others.
  [[nodiscard]] static ComponentId expert(std::size_t layer, std::size_t number, Block in = Block::kOnly) noexcept {
    ComponentId id(ComponentKind::kExpert, layer, in);
    id.head = number;
    return id;
  }

  [[nodiscard]] bool is_head() const noexcept {
    return kind == ComponentKind::kQueryHead || kind == ComponentKind::kKvHead;
  }
  [[nodiscard]] bool is_mlp() const noexcept { return kind == ComponentKind::kMlp || kind == ComponentKind::kExpert; }
  [[nodiscard]] bool is_in_layer() const noexcept { return is_head() || is_mlp() || kind == ComponentKind::kRotaryKey; }
  /// The head; only if `is_head`.
  [[nodiscard]] HeadId head_id() const noexcept { return {layer, head, kind == ComponentKind::kKvHead, block}; }
  /// 0 before the first layer, 1 in it, ...; the largest number after the last layer.
  [[nodiscard]] std::size_t depth() const noexcept;

  friend bool operator==(const ComponentId&, const ComponentId&) = default;
  /// Orders by block, then by depth; within a layer query heads, KV heads, rotary key, MLP; then by number. Heads are
  /// ordered as HeadId.
  friend std::strong_ordering operator<=>(const ComponentId& a, const ComponentId& b) noexcept;
};

/// Returns "L4H7", "L4KV1", "L4R" for the shared rotary key of layer 4, "L4M" for its MLP, "L4M12" for its expert 12,
/// "E", "P" or "U"; "decoder.L4M" if the block has a name.
[[nodiscard]] std::string to_string(const ComponentId& id);
/// The inverse of `to_string`; heads as `parse_head`.
[[nodiscard]] std::optional<ComponentId> parse_component(std::string_view text) noexcept;

/// The MLP of a layer, which is counted through all blocks. That of a decoder's layer follows cross-attention: layer
/// cross.L2 has the MLP decoder.L2M.
[[nodiscard]] ComponentId mlp_of(std::size_t layer, const HeadSizes& sizes) noexcept;
/// The inverse; nothing if the model has no such layer.
[[nodiscard]] std::optional<std::size_t> layer_of_mlp(const ComponentId& mlp, const HeadSizes& sizes) noexcept;

/// Whether what `source` writes is in the residual stream when `target` reads it. The MLP of a layer reads what the
/// heads of its layer write, unless the block is `parallel`: both then read the same stream. Of a model with an encoder
/// and a decoder, only for targets that are no heads of cross-attention, which read both streams.
[[nodiscard]] bool precedes(const ComponentId& source, const ComponentId& target, bool parallel) noexcept;

}  // namespace headscope
