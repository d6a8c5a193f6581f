#include "forward/pass/read_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "forward/role_reader.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"

namespace headscope {
namespace {

// An edit, and the rows that its role reads.
struct MemberEdit {
  const Member* member;
  ReadEdit edit;
};

void require_valid(const HeadSizes& sizes, std::size_t layer, const ReadEdit& edit, const Member& member) {
  const std::size_t heads = sizes.heads_of(layer, edit.role);
  if (edit.role != Role::kO && edit.head < heads && edit.change.rows() == member.tokens &&
      edit.change.columns() == sizes.d_model) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("an edit of head {} changes {} rows of {}, expected {} of {}", edit.head, edit.change.rows(),
                          edit.change.columns(), member.tokens, sizes.d_model));
}

bool reads_encoder(const NetworkLayer& layer, Role role) {
  return layer.block == Block::kCross && is_key_value(role);
}

std::vector<MemberEdit> collect_edits(const Pass& pass, const Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  std::vector<MemberEdit> edits;
  for (std::size_t k = 0; k < stack.members.size(); ++k) {
    for (const ReadEdit& edit : pass.options.edits(stack.members[k].input)) {
      const Member& member = reads_encoder(layer, edit.role) ? stack.memory.members[k] : stack.members[k];
      require_valid(pass.sizes, index, edit, member);
      edits.push_back({&member, edit});
    }
  }
  return edits;
}

// The rows that a role reads, before their norm. Those of the encoder's output are kept only after it.
Matrix rows_before_norm(const Pass& pass, const Stack& stack, const Member& member, bool of_encoder) {
  Matrix rows(member.tokens, stack.stream.columns());
  if (of_encoder) {
    pass.options.encoder_output(member.input, rows.span());
  } else {
    std::ranges::copy(stack.stream.values().subspan(member.first * rows.columns(), rows.values().size()),
                      rows.values().begin());
  }
  return rows;
}

// What an edited head reads.
void change_read(Matrix& rows, const ReadEdit& edit, const std::optional<Norm>& norm) {
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    const std::span<float> row = rows.row(t);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += edit.change(t, j);
    if (norm) norm->apply_row(row, row);
  }
}

}  // namespace

void apply_read_edits(const Pass& pass, const Stack& stack, std::size_t index, const std::optional<Norm>& norm,
                      const Placement& placement, const std::array<HeadColumns, 3>& columns) {
  const NetworkLayer& layer = pass.network.layers[index];
  const std::vector<MemberEdit> edits = collect_edits(pass, stack, index);
  const std::optional<Norm> encoder_norm = load_norm(pass.checkpoint, pass.network.memory_norm);
  std::array<std::optional<RoleReader>, 3> readers;
  for (const auto& [member, edit] : edits) {
    std::optional<RoleReader>& reader = readers[static_cast<std::size_t>(edit.role)];
    if (!reader) reader.emplace(pass.checkpoint, layer, pass.sizes, index, edit.role, placement);
  }
  parallel_for(edits.size(), [&](std::size_t i) {
    const auto& [member, edit] = edits[i];
    const auto r = static_cast<std::size_t>(edit.role);
    const bool of_encoder = reads_encoder(layer, edit.role);
    Matrix changed = rows_before_norm(pass, stack, *member, of_encoder);
    change_read(changed, edit, of_encoder ? encoder_norm : norm);
    const MatrixSpan out(columns[r].at(member->first, edit.head), member->tokens, readers[r]->width(),
                         columns[r].row_stride);
    readers[r]->read(changed.view(), edit.head, out);
    const RotaryTable& rotary = stack.positions.rotary(layer, member->shape());
    for (std::size_t t = 0; t < member->tokens; ++t) placement.place(edit.role, edit.head, t, rotary, out.row(t));
  });
}

}  // namespace headscope
