#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "capture/tokenizer/token_table.h"

namespace headscope {

/// Tokens as a tree over their bytes, to find those a text begins with. About 12 bytes a node, at most one node a byte.
class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoValue = 0xFFFFFFFF;

  ByteTrie() = default;
  /// Every text that is not empty, with the id it counts with.
  explicit ByteTrie(const TokenTable& tokens);

  /// The node a byte further, kNone if there is none.
  [[nodiscard]] Node next(Node node, char byte) const noexcept;
  /// The node `text` leads to from the root.
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
