#include "headscope/relate/component.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <tuple>

namespace headscope {

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
      return fmt::format("L{}R", id.layer);
    case ComponentKind::kMlp:
      return fmt::format("L{}M", id.layer);
    case ComponentKind::kExpert:
      return fmt::format("L{}M{}", id.layer, id.head);
    case ComponentKind::kQueryHead:
    case ComponentKind::kKvHead:
      break;
  }
  return to_string(id.head_id());
}

bool precedes(const ComponentId& source, const ComponentId& target, bool parallel) noexcept {
  if (source.depth() != target.depth()) return source.depth() < target.depth();
  return !parallel && source.is_head() && target.is_mlp();
}

}  // namespace headscope
