#include "headscope/relate/component.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <tuple>

namespace headscope {

namespace {

std::string prefix(Block block) {
  return block == Block::kOnly ? "" : fmt::format("{}.", to_string(block));
}

}  // namespace

std::string_view to_string(ComponentKind kind) noexcept {
  constexpr std::array<std::string_view, 8> kNames = {"embedding",  "position", "query",  "kv",
                                                      "rotary-key", "mlp",      "expert", "unembedding"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t ComponentId::depth() const noexcept {
  if (is_in_layer()) return layer + 1;
  return kind == ComponentKind::kUnembedding ? std::numeric_limits<std::size_t>::max() : 0;
}

std::strong_ordering operator<=>(const ComponentId& a, const ComponentId& b) noexcept {
  return std::tuple(a.block, a.depth(), a.kind, a.head) <=> std::tuple(b.block, b.depth(), b.kind, b.head);
}

std::string to_string(const ComponentId& id) {
  switch (id.kind) {
    case ComponentKind::kEmbedding:
      return "E";
    case ComponentKind::kPosition:
      return "P";
    case ComponentKind::kUnembedding:
      return "U";
    case ComponentKind::kRotaryKey:
      return fmt::format("{}L{}R", prefix(id.block), id.layer);
    case ComponentKind::kMlp:
      return fmt::format("{}L{}M", prefix(id.block), id.layer);
    case ComponentKind::kExpert:
      return fmt::format("{}L{}M{}", prefix(id.block), id.layer, id.head);
    case ComponentKind::kQueryHead:
    case ComponentKind::kKvHead:
      break;
  }
  return to_string(id.head_id());
}

std::optional<ComponentId> parse_component(std::string_view text) noexcept {
  if (text == "E") return ComponentId(ComponentKind::kEmbedding);
  if (text == "P") return ComponentId(ComponentKind::kPosition);
  if (text == "U") return ComponentId(ComponentKind::kUnembedding);
  if (const auto head = parse_head(text)) return ComponentId(*head);
  Block block = Block::kOnly;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    const std::optional<Block> named = parse_block(text.substr(0, dot));
    if (!named) return std::nullopt;
    block = *named;
    text.remove_prefix(dot + 1);
  }
  const char* const end = text.data() + text.size();
  std::size_t layer = 0;
  if (text.empty() || text.front() != 'L') return std::nullopt;
  const auto [letter, no_layer] = std::from_chars(text.data() + 1, end, layer);
  if (no_layer != std::errc() || letter == end) return std::nullopt;
  if (letter + 1 == end) {
    if (*letter == 'R') return ComponentId(ComponentKind::kRotaryKey, layer, block);
    return *letter == 'M' ? std::optional(ComponentId(ComponentKind::kMlp, layer, block)) : std::nullopt;
  }
  std::size_t expert = 0;
  const auto [rest, no_expert] = std::from_chars(letter + 1, end, expert);
  if (*letter != 'M' || no_expert != std::errc() || rest != end) return std::nullopt;
  return ComponentId::expert(layer, expert, block);
}

ComponentId mlp_of(std::size_t layer, const HeadSizes& sizes) noexcept {
  const BlockLayer own = sizes.place(layer);
  return ComponentId(ComponentKind::kMlp, own.layer, own.block == Block::kCross ? Block::kDecoder : own.block);
}

std::optional<std::size_t> layer_of_mlp(const ComponentId& mlp, const HeadSizes& sizes) noexcept {
  if (mlp.block == Block::kCross) return std::nullopt;
  return sizes.layer_of(BlockLayer{mlp.block == Block::kDecoder ? Block::kCross : mlp.block, mlp.layer});
}

bool precedes(const ComponentId& source, const ComponentId& target, bool parallel) noexcept {
  if ((source.block == Block::kEncoder) != (target.block == Block::kEncoder)) return false;
  if (source.depth() != target.depth()) return source.depth() < target.depth();
  return !parallel && source.is_head() && target.is_mlp();
}

}  // namespace headscope
