#include "forward/placement.h"

#include <algorithm>

namespace headscope {

Placement::Placement(const Checkpoint& checkpoint, const Network& network, const HeadSizes& sizes, std::size_t layer)
    : network_(network), joint_(network.joint_head_norms) {
  const NetworkLayer& own = network.layers[layer];
  grows_ = own.growing_queries && network.query_growth > 0;
  norms_ = {load_norm(checkpoint, own.q_norm), load_norm(checkpoint, own.k_norm), load_norm(checkpoint, own.v_norm)};
  const std::size_t key_width = sizes.width(layer, Role::kQ);
  heads_ = {sizes.heads, sizes.heads_of(layer, Role::kK), sizes.heads_of(layer, Role::kV)};
  widths_ = {key_width, key_width, sizes.width(layer, Role::kV)};
}

bool Placement::changes(Role role) const noexcept {
  return norm(role) || network_.clip > 0 || (role == Role::kQ && grows_);
}

void Placement::finish(Role role, std::size_t head, std::size_t token, const RotaryTable& rotary,
                       std::span<float> row) const {
  if (const float limit = network_.clip; limit > 0) {
    for (float& value : row) value = std::clamp(value, -limit, limit);
  }
  if (role == Role::kV) return;
  if (row.size() == widths_[static_cast<std::size_t>(role)]) rotary.rotate(token, row.data());
  if (is_normed_last(role)) norm(role)->apply_head(head, row);
  if (role == Role::kQ && grows_) grow_query(network_, token, row);
}

void Placement::place_all(Role role, std::size_t token, const RotaryTable& rotary, const HeadColumns& columns) const {
  const auto r = static_cast<std::size_t>(role);
  if (heads_[r] == 0) return;  // those of an earlier layer, already placed
  if (is_joint(role)) {
    // The heads of a family with joint norms are next to each other.
    const std::span<float> all(columns.at(token, 0), heads_[r] * widths_[r]);
    norm(role)->apply_row(all, all);
  }
  for (std::size_t a = 0; a < heads_[r]; ++a) {
    const std::span<float> row(columns.at(token, a), widths_[r]);
    if (norm(role) && !is_joint(role) && !is_normed_last(role)) norm(role)->apply_head(a, row);
    finish(role, a, token, rotary, row);
  }
}

void Placement::place(Role role, std::size_t head, std::size_t token, const RotaryTable& rotary,
                      std::span<float> row) const {
  if (is_joint(role)) {
    norm(role)->apply_gain(head, row);
  } else if (norm(role) && !is_normed_last(role)) {
    norm(role)->apply_head(head, row);
  }
  finish(role, head, token, rotary, row);
}

}  // namespace headscope
