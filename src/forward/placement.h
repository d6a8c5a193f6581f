#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "forward/head_columns.h"
#include "forward/rotary_table.h"
#include "forward/weights.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// What follows the projections of a layer: norms of queries, keys and values, clipping, rotary positions, and what
/// queries grow by with their position.
class Placement {
 public:
  /// `network` must outlive this object.
  Placement(const Checkpoint& checkpoint, const Network& network, const HeadSizes& sizes, std::size_t layer);

  /// Whether anything is done to a role besides rotating it.
  [[nodiscard]] bool changes(Role role) const noexcept;
  /// Whether a role has a norm over all heads together. It is an RMSNorm.
  [[nodiscard]] bool is_joint(Role role) const noexcept { return joint_ && norm(role); }
  /// What a joint norm multiplies the heads of one token by, besides its gain. `all` are those heads, next to each
  /// other.
  [[nodiscard]] float joint_factor(Role role, std::span<const float> all) const { return norm(role)->factor(all); }

  /// Applies all of it to all heads of one token, in place.
  void place_all(Role role, std::size_t token, const RotaryTable& rotary, const HeadColumns& columns) const;
  /// The same for one head of one token. Values under a joint norm must be multiplied by `joint_factor` before. A row
  /// of K that lacks the rotary key which the heads share is not rotated.
  void place(Role role, std::size_t head, std::size_t token, const RotaryTable& rotary, std::span<float> row) const;

 private:
  [[nodiscard]] const std::optional<Norm>& norm(Role role) const noexcept {
    return norms_[static_cast<std::size_t>(role)];
  }
  // Whether the norm comes after the rotation.
  [[nodiscard]] bool is_normed_last(Role role) const noexcept {
    return norm(role) && network_.head_norms_last && role != Role::kV;
  }
  // What follows the norm, or includes it if it comes after the rotation.
  void finish(Role role, std::size_t head, std::size_t token, const RotaryTable& rotary, std::span<float> row) const;

  const Network& network_;
  bool joint_;
  bool grows_;
  std::array<std::optional<Norm>, 3> norms_;  // Q, K and V
  std::array<std::size_t, 3> heads_;
  std::array<std::size_t, 3> widths_;  // of K with the shared rotary key
};

}  // namespace headscope
