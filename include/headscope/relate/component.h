#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "headscope/model/head_id.h"

namespace headscope {

/// What a component of a model is. In the order of the forward pass within a layer.
enum class ComponentKind { kEmbedding, kPosition, kQueryHead, kKvHead, kMlp, kUnembedding };

/// "embedding", "position", "query", "kv", "mlp" or "unembedding".
[[nodiscard]] std::string_view to_string(ComponentKind kind) noexcept;

/// Identifies a component that reads from or writes to the residual stream: a head, the MLP of a layer, the token
/// embedding, the position embedding or the unembedding.
struct ComponentId {
  ComponentKind kind = ComponentKind::kQueryHead;
  std::size_t layer = 0;  ///< 0 for components outside of the layers.
  std::size_t head = 0;   ///< 0 for components that are not heads.
  Block block = Block::kOnly;

  ComponentId() = default;
  ComponentId(HeadId id) noexcept  // NOLINT(google-explicit-constructor): every head is a component
      : kind(id.key_value ? ComponentKind::kKvHead : ComponentKind::kQueryHead),
        layer(id.layer),
        head(id.head),
        block(id.block) {}
  /// A component that is not a head.
  explicit ComponentId(ComponentKind other, std::size_t in_layer = 0) noexcept : kind(other), layer(in_layer) {}

  [[nodiscard]] bool is_head() const noexcept {
    return kind == ComponentKind::kQueryHead || kind == ComponentKind::kKvHead;
  }
  [[nodiscard]] bool is_in_layer() const noexcept { return is_head() || kind == ComponentKind::kMlp; }
  /// The head; only if `is_head`.
  [[nodiscard]] HeadId head_id() const noexcept { return {layer, head, kind == ComponentKind::kKvHead, block}; }
  /// 0 before the first layer, 1 in it, ...; the largest number after the last layer.
  [[nodiscard]] std::size_t depth() const noexcept;

  friend bool operator==(const ComponentId&, const ComponentId&) = default;
  /// Orders by block, then by depth; within a layer query heads, KV heads, MLP; then by number. Heads are ordered as
  /// HeadId.
  friend std::strong_ordering operator<=>(const ComponentId& a, const ComponentId& b) noexcept;
};

/// Returns "L4H7", "L4KV1", "L4M" for the MLP of layer 4, "E", "P" or "U".
[[nodiscard]] std::string to_string(const ComponentId& id);

/// Whether what `source` writes is in the residual stream when `target` reads it. The MLP of a layer reads what the
/// heads of its layer write, unless the block is `parallel`: both then read the same stream.
[[nodiscard]] bool precedes(const ComponentId& source, const ComponentId& target, bool parallel) noexcept;

}  // namespace headscope
