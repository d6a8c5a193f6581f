#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenize/token_table.h"

namespace headscope {

/// A trie over the bytes of the tokens, to find the tokens that a text starts with. About 12 bytes per node, at most
/// one node per byte.
class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoValue = 0xFFFFFFFF;

  ByteTrie() = default;
  /// Contains every non-empty text with the id that `tokens.find` returns for it.
  explicit ByteTrie(const TokenTable& tokens);

  /// Returns the child for a byte, kNone if there is none.
  [[nodiscard]] Node next(Node node, char byte) const noexcept;
  /// Returns the node that `text` leads to from the root, or kNone.
  [[nodiscard]] Node walk(std::string_view text) const noexcept;
  /// The id of the token that ends here, or kNoValue.
  [[nodiscard]] std::uint32_t value(Node node) const noexcept { return nodes_[node].value; }

 private:
  struct Item {
    std::uint32_t first_child;
    std::uint32_t value;
    std::uint16_t children;
    unsigned char label;
  };

  std::vector<Item> nodes_ = {{1, kNoValue, 0, 0}};
  std::array<Node, 256> from_root_ = [] {
    std::array<Node, 256> none{};
    none.fill(kNone);
    return none;
  }();
};

}  // namespace headscope
