#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace headscope {

/// Identifies a head of a model. Layers and heads are numbered from 0.
struct HeadId {
  std::size_t layer = 0;
  std::size_t head = 0;
  /// Whether `head` is the number of a key/value head. In models where every query head has its own key and value,
  /// heads are always named as query heads.
  bool key_value = false;

  friend bool operator==(const HeadId&, const HeadId&) = default;
  /// Orders by layer; within a layer query heads before KV heads; then by number.
  friend std::strong_ordering operator<=>(const HeadId& a, const HeadId& b) noexcept {
    return std::tie(a.layer, a.key_value, a.head) <=> std::tie(b.layer, b.key_value, b.head);
  }
};

/// Returns "L4H7", or "L4KV1" for a KV head. `parse_head` is the inverse.
[[nodiscard]] std::string to_string(HeadId id);

/// Parses L4H7, l4h7, 4.7 or 4,7, and L4KV1 or l4kv1 for a KV head. Returns nothing for any other text, including text
/// with blanks, or if a number does not fit std::size_t.
///
/// "4.10" is head 10 of layer 4: never convert such a name to a number.
[[nodiscard]] std::optional<HeadId> parse_head(std::string_view text) noexcept;

}  // namespace headscope
