#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "headscope/model/block.h"

namespace headscope {

/// Identifies a head of a model. Layers and heads are numbered from 0, the layers of each block by themselves.
struct HeadId {
  std::size_t layer = 0;
  std::size_t head = 0;
  /// Whether `head` is the number of a key/value head. In models where every query head has its own key and value,
  /// heads are always named as query heads.
  bool key_value = false;
  Block block = Block::kOnly;

  [[nodiscard]] BlockLayer place() const noexcept { return {block, layer}; }

  friend bool operator==(const HeadId&, const HeadId&) = default;
  /// Orders by block, then by layer; within a layer query heads before KV heads; then by number.
  friend std::strong_ordering operator<=>(const HeadId& a, const HeadId& b) noexcept {
    return std::tie(a.block, a.layer, a.key_value, a.head) <=> std::tie(b.block, b.layer, b.key_value, b.head);
  }
};

/// `precedes` for the layers of two heads.
[[nodiscard]] inline bool precedes(const HeadId& source, Role from, const HeadId& target, Role to) noexcept {
  return precedes(source.place(), from, target.place(), to);
}

/// Returns "L4H7", or "L4KV1" for a KV head; "cross.L4H7" if the block has a name. `parse_head` is the inverse.
[[nodiscard]] std::string to_string(HeadId id);

/// Parses L4H7, l4h7, 4.7 or 4,7, and L4KV1 or l4kv1 for a KV head, each also with the name of a block and a dot in
/// front. Returns nothing for any other text, including text
/// with blanks, or if a number does not fit std::size_t.
///
/// "4.10" is head 10 of layer 4: never convert such a name to a number.
[[nodiscard]] std::optional<HeadId> parse_head(std::string_view text) noexcept;

}  // namespace headscope
