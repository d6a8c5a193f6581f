#include "forward/pass/place_heads.h"

#include <algorithm>
#include <optional>

#include "forward/parallel_rows.h"
#include "forward/weights.h"

namespace headscope {
namespace {

void clip(std::span<float> values, float limit) {
  if (limit <= 0) return;
  for (float& value : values) value = std::clamp(value, -limit, limit);
}

// What is done to the queries or keys of one token.
struct Placement {
  const Network& network;
  const std::optional<Norm>& norm;
  const RotaryTable& rotary;
  std::size_t heads;
  std::size_t width;
  bool grows;  // queries, with their position

  void apply(const HeadColumns& columns, std::size_t t) const {
    // The heads of a family with joint norms are next to each other.
    if (norm && network.joint_head_norms && heads > 0) {
      const std::span<float> all(columns.at(t, 0), heads * width);
      norm->apply_row(all, all);
    }
    for (std::size_t a = 0; a < heads; ++a) {
      float* head = columns.at(t, a);
      const std::span<float> components(head, width);
      if (norm && !network.joint_head_norms) norm->apply_head(a, components);
      clip(components, network.clip);
      rotary.rotate(t, head);
      if (grows) grow_query(network, t, components);
    }
  }
};

}  // namespace

void place_heads(const Pass& pass, std::size_t index, const RotaryTable& rotary,
                 const std::array<HeadColumns, 3>& columns, const Member& member, std::size_t keys) {
  const Network& network = pass.network;
  const NetworkLayer& layer = network.layers[index];
  const std::optional<Norm> q_norm = load_norm(pass.checkpoint, layer.q_norm);
  const std::optional<Norm> k_norm = load_norm(pass.checkpoint, layer.k_norm);
  const std::optional<Norm> v_norm = load_norm(pass.checkpoint, layer.v_norm);
  const bool grows = layer.growing_queries && network.query_growth > 0;
  if (!q_norm && !k_norm && !v_norm && rotary.empty() && !grows && network.clip <= 0) return;

  const std::size_t kv_heads = pass.sizes.heads_of(index, Role::kK);  // 0: those of an earlier layer, already placed
  const std::size_t width = pass.sizes.width(index, Role::kQ);
  const std::size_t value_width = pass.sizes.width(index, Role::kV);
  const Placement queries{network, q_norm, rotary, pass.sizes.heads, width, grows};
  const Placement placed_keys{network, k_norm, rotary, kv_heads, width, /*grows=*/false};
  parallel_for_rows(std::max(member.tokens, keys), [&](std::size_t t) {
    if (t < member.tokens) queries.apply(columns[0], t);
    if (t >= keys) return;
    placed_keys.apply(columns[1], t);
    for (std::size_t a = 0; a < kv_heads; ++a) {
      const std::span<float> value(columns[2].at(t, a), value_width);
      clip(value, network.clip);
      if (v_norm) v_norm->apply_row(value, value);
    }
  });
}

}  // namespace headscope
