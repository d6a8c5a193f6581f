#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/model/role.h"

namespace headscope {

/// Which matrices of two heads are compared: the source's and the target's. OQ
/// is what an earlier head writes against what a later head's queries read.
struct RolePair {
  Role source = Role::kO;
  Role target = Role::kQ;

  friend bool operator==(const RolePair&, const RolePair&) = default;
};

/// "OQ".
[[nodiscard]] std::string to_string(RolePair pair);

/// Nothing if the text is not two of the letters Q, K, V, O.
[[nodiscard]] std::optional<RolePair> parse_role_pair(std::string_view text);

/// All 16, source by source in the order Q, K, V, O.
[[nodiscard]] std::vector<RolePair> all_role_pairs();

}  // namespace headscope
