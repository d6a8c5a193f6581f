#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace headscope {

/// Which head of a model: layers and heads count from 0.
struct HeadId {
  std::size_t layer = 0;
  std::size_t head = 0;
  /// Whether `head` counts the layer's key/value heads. Where every query head has
  /// its own key and value, heads are named as query heads throughout.
  bool key_value = false;

  friend bool operator==(const HeadId&, const HeadId&) = default;
  /// By layer; within a layer query heads before KV heads; then by number.
  friend std::strong_ordering operator<=>(const HeadId& a, const HeadId& b) noexcept {
    return std::tie(a.layer, a.key_value, a.head) <=> std::tie(b.layer, b.key_value, b.head);
  }
};

/// "L4H7", or "L4KV1" for a KV head. `parse_head` reads it back.
[[nodiscard]] std::string to_string(HeadId id);

/// Reads L4H7, l4h7, 4.7 or 4,7, and L4KV1 or l4kv1 for a KV head. Nothing for any
/// other text, a blank included, or a number that does not fit std::size_t.
///
/// "4.10" is head 10 of layer 4: such names must never pass through a number.
[[nodiscard]] std::optional<HeadId> parse_head(std::string_view text) noexcept;

}  // namespace headscope
