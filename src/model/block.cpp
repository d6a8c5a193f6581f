#include "headscope/model/block.h"

#include <algorithm>

namespace headscope {

std::string_view to_string(Block block) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"", "encoder", "decoder", "cross"};
  return kNames[static_cast<std::size_t>(block)];
}

std::optional<Block> parse_block(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kNamedBlocks, name, [](Block block) { return to_string(block); });
  return found == kNamedBlocks.end() ? std::nullopt : std::optional(*found);
}

}  // namespace headscope
