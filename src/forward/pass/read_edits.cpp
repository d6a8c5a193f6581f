#include "forward/pass/read_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

using MemberEdit = std::pair<const Member*, ReadEdit>;

// Weights and biases of the roles that are edited.
struct EditedWeights {
  std::array<Buffer<float>, 3> decoded;
  std::array<std::optional<MatrixView>, 3> weights;
  std::array<std::vector<float>, 3> biases;
};

void require_valid(const HeadSizes& sizes, const ReadEdit& edit, const Member& member) {
  const std::size_t heads = edit.role == Role::kQ ? sizes.heads : sizes.kv_heads;
  if (edit.role != Role::kO && edit.head < heads && edit.change.rows() == member.tokens &&
      edit.change.columns() == sizes.d_model) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("an edit of head {} changes {} rows of {}, expected {} of {}", edit.head, edit.change.rows(),
                          edit.change.columns(), member.tokens, sizes.d_model));
}

std::vector<MemberEdit> collect_edits(const Pass& pass, const Stack& stack) {
  std::vector<MemberEdit> edits;
  for (const Member& member : stack.members) {
    for (const ReadEdit& edit : pass.options.edits(member.input)) {
      require_valid(pass.sizes, edit, member);
      edits.emplace_back(&member, edit);
    }
  }
  return edits;
}

void read_edited_weights(const Checkpoint& checkpoint, const NetworkLayer& layer, const std::vector<MemberEdit>& edits,
                         EditedWeights& into) {
  for (std::size_t r = 0; r < 3; ++r) {
    const auto is_used = [&](const MemberEdit& one) { return static_cast<std::size_t>(one.second.role) == r; };
    if (std::ranges::none_of(edits, is_used)) continue;
    into.weights[r] = linear_weights(checkpoint, layer.linear[r], into.decoded[r]);
    if (layer.linear[r].bias != nullptr) into.biases[r] = read_vector(checkpoint, *layer.linear[r].bias);
  }
}

// What an edited head reads.
Matrix changed_read(const Stack& stack, const Member& member, const ReadEdit& edit, const std::optional<Norm>& norm) {
  Matrix changed(member.tokens, stack.stream.columns());
  for (std::size_t t = 0; t < member.tokens; ++t) {
    const std::span<float> row = changed.row(t);
    const std::span<const float> stream = stack.stream.row(member.first + t);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = stream[j] + edit.change(t, j);
    if (norm) norm->apply_row(row, row);
  }
  return changed;
}

}  // namespace

void apply_read_edits(const Pass& pass, const Stack& stack, const NetworkLayer& layer, const std::optional<Norm>& norm,
                      const std::array<HeadColumns, 3>& columns) {
  const std::vector<MemberEdit> edits = collect_edits(pass, stack);
  EditedWeights edited;
  read_edited_weights(pass.checkpoint, layer, edits, edited);
  const std::size_t d_head = pass.sizes.d_head;
  parallel_for(edits.size(), [&](std::size_t i) {
    const auto& [member, edit] = edits[i];
    const auto r = static_cast<std::size_t>(edit.role);
    const Matrix changed = changed_read(stack, *member, edit, norm);
    const std::size_t first = layer.slices[r].first_of(edit.head);
    const MatrixSpan out(columns[r].at(member->first, edit.head), member->tokens, d_head, columns[r].row_stride);
    const std::vector<float>& bias = edited.biases[r];
    if (!bias.empty()) {
      const std::span<const float> own = std::span(bias).subspan(first, d_head);
      for (std::size_t t = 0; t < member->tokens; ++t) std::ranges::copy(own, out.row(t).begin());
    }
    multiply(changed.view(), edited.weights[r]->block(0, changed.columns(), first, d_head), out, 1,
             bias.empty() ? 0 : 1);
  });
}

}  // namespace headscope
