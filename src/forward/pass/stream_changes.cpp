#include "forward/pass/stream_changes.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"

namespace headscope {

void add_changes(const Stack& stack, const std::function<MatrixView(std::size_t input)>& change_of, Matrix& rows) {
  for (std::size_t k = 0; k < stack.members.size(); ++k) {
    const Member& member = stack.members[k];
    const KeptRows& kept = stack.kept[k];
    const MatrixView change = change_of(member.input);
    if (change.rows() != member.tokens || change.columns() != rows.columns()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("a change of the stream has {} rows of {}, expected {} of {}", change.rows(),
                              change.columns(), member.tokens, rows.columns()));
    }
    for (std::size_t t = 0; t < kept.count; ++t) {
      const float* row = change.data() + (kept.first + t) * change.row_stride();
      add_scaled({row, change.columns()}, {}, rows.row(kept.at + t));
    }
  }
}

}  // namespace headscope
