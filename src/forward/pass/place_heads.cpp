#include "forward/pass/place_heads.h"

#include <algorithm>

#include "forward/parallel_rows.h"

namespace headscope {

void place_heads(const Placement& placement, const RotaryTable& rotary, const std::array<HeadColumns, 3>& columns,
                 std::size_t queries, std::size_t keys) {
  const std::array<bool, 3> wanted = {placement.changes(Role::kQ) || !rotary.empty(),
                                      placement.changes(Role::kK) || !rotary.empty(), placement.changes(Role::kV)};
  if (!wanted[0] && !wanted[1] && !wanted[2]) return;
  parallel_for_rows(std::max(queries, keys), [&](std::size_t t) {
    for (std::size_t r = 0; r < 3; ++r) {
      if (wanted[r] && t < (r == 0 ? queries : keys)) placement.place_all(kRoles[r], t, rotary, columns[r]);
    }
  });
}

}  // namespace headscope
