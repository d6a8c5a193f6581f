#pragma once

#include <cstddef>

#include "headscope/model/role.h"

namespace headscope {

/// Number of heads of a model and their sizes.
struct HeadSizes {
  std::size_t layers = 0;
  std::size_t heads = 0;     ///< Query heads per layer.
  std::size_t kv_heads = 0;  ///< Key/value heads per layer; query head a uses KV head a / (heads / kv_heads).
  std::size_t d_model = 0;   ///< Width of the residual stream.
  std::size_t d_head = 0;    ///< Width of a head; not necessarily d_model / heads.

  /// Heads per layer that have a matrix for this role.
  [[nodiscard]] std::size_t heads_of(Role role) const noexcept { return is_key_value(role) ? kv_heads : heads; }

  friend bool operator==(const HeadSizes&, const HeadSizes&) = default;
};

}  // namespace headscope
