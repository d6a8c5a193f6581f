#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/model/role.h"

namespace headscope {

/// Which matrices of two heads are compared: one of the source, one of the target. OQ compares what an earlier head
/// writes with what the queries of a later head read.
struct RolePair {
  Role source = Role::kO;
  Role target = Role::kQ;

  friend bool operator==(const RolePair&, const RolePair&) = default;
};

/// E.g. "OQ".
[[nodiscard]] std::string to_string(RolePair pair);

/// Returns nothing if the text is not two of the letters Q, K, V, O.
[[nodiscard]] std::optional<RolePair> parse_role_pair(std::string_view text);

/// Returns all 16 pairs, ordered by source, then target, each in the order Q, K, V, O.
[[nodiscard]] std::vector<RolePair> all_role_pairs();

}  // namespace headscope
