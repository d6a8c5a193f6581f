#include "headscope/patch/patch_edge.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

[[noreturn]] void fail(const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, why);
}

std::string_view read_by(Role role) {
  return role == Role::kQ ? "queries" : role == Role::kK ? "keys" : "values";
}

bool is_grouped(Role role, const HeadSizes& sizes) {
  return is_key_value(role) && sizes.kv_heads != sizes.heads;
}

std::string block_hint(const HeadId& head, const HeadSizes& sizes) {
  return sizes.has_blocks() && head.block == Block::kOnly ? "; name one such as cross.L0H0" : "";
}

void check_source(const HeadId& source, const HeadSizes& sizes) {
  if (source.key_value) fail(fmt::format("{} reads: an edge begins with a query head", to_string(source)));
  if (sizes.layer_of(source)) return;
  fail(
      fmt::format("the model has no head {}: it has {}{}", to_string(source), sizes.text(), block_hint(source, sizes)));
}

void check_target(const PatchEdge& edge, const HeadSizes& sizes) {
  const HeadId& target = edge.target;
  const bool grouped = is_grouped(edge.role, sizes);
  const std::optional<std::size_t> layer = sizes.layer_of(target.place());
  if (layer && is_key_value(edge.role) && sizes.kv_layer(*layer) != *layer) {
    fail(fmt::format("layer {} has no {} of its own: its queries use those of layer {}", *layer, read_by(edge.role),
                     sizes.kv_layer(*layer)));
  }
  if (grouped && !target.key_value && layer && target.head < sizes.heads) {
    HeadId shared = target;
    shared.head /= sizes.queries_per_kv(*layer);
    shared.key_value = true;
    fail(
        fmt::format("{} shares its {}: name the KV head {}", to_string(target), read_by(edge.role), to_string(shared)));
  }
  if (target.key_value == grouped && sizes.layer_of(target)) return;
  fail(fmt::format("the model has no head {} with role {}: it has {} and {} KV heads{}", to_string(target),
                   letter(edge.role), sizes.text(), sizes.kv_heads, block_hint(target, sizes)));
}

}  // namespace

void check_edge(const PatchEdge& edge, const HeadSizes& sizes) {
  if (edge.role == Role::kO) fail("an edge ends in Q, K or V: O writes");
  check_source(edge.source, sizes);
  check_target(edge, sizes);
  if (precedes(edge.source, Role::kO, edge.target, edge.role)) return;
  const Stream read = stream_of(edge.target.block, edge.role);
  if (read != stream_of(edge.source.block, Role::kO)) {
    fail(fmt::format("{} takes its {} from the {}, to which {} does not write: nothing flows from one to the other",
                     to_string(edge.target), read_by(edge.role), read == Stream::kEncoder ? "encoder" : "decoder",
                     to_string(edge.source)));
  }
  fail(fmt::format("{} is not in a later layer than {}: nothing flows from one to the other", to_string(edge.target),
                   to_string(edge.source)));
}

std::size_t row_of(const PatchEdge& edge, const HeadSizes& sizes) {
  return sizes.layer_of(edge.source).value() * sizes.heads + edge.source.head;
}

std::size_t column_of(const PatchEdge& edge, const HeadSizes& sizes) {
  return targets_before(sizes.layer_of(edge.target).value(), edge.role, sizes) + edge.target.head;
}

std::size_t targets_before(std::size_t layer, Role role, const HeadSizes& sizes) noexcept {
  if (sizes.by_layer.empty()) return layer * sizes.heads_of(role);
  std::size_t count = 0;
  for (std::size_t earlier = 0; earlier < layer; ++earlier) count += sizes.heads_of(earlier, role);
  return count;
}

std::optional<PatchEdge> edge_at(Role role, std::size_t row, std::size_t column, const HeadSizes& sizes) {
  std::size_t layer = sizes.by_layer.empty() ? column / sizes.heads_of(role) : 0;
  std::size_t target = column - targets_before(layer, role, sizes);
  for (; target >= sizes.heads_of(layer, role); ++layer) target -= sizes.heads_of(layer, role);
  const PatchEdge edge{sizes.head_of(row / sizes.heads, row % sizes.heads), role,
                       sizes.head_of(layer, target, is_grouped(role, sizes))};
  return precedes(edge.source, Role::kO, edge.target, role) ? std::optional(edge) : std::nullopt;
}

}  // namespace headscope
