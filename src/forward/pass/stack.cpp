#include "forward/pass/stack.h"

#include <algorithm>
#include <utility>

#include "forward/embed.h"
#include "forward/parallel_rows.h"
#include "forward/pass/side_streams.h"
#include "forward/token_inputs.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::vector<KeptRows> all_rows(std::span<const Member> members) {
  std::vector<KeptRows> kept;
  for (const Member& member : members) kept.push_back({member.first, 0, member.tokens});
  return kept;
}

std::vector<InputShape> shapes_of(std::span<const Member> members) {
  std::vector<InputShape> shapes;
  for (const Member& member : members) shapes.push_back(member.shape());
  return shapes;
}

std::vector<KeptRows> requested_rows(std::span<const Member> members, const ForwardOptions& options) {
  std::vector<KeptRows> kept;
  std::size_t at = 0;
  for (const Member& member : members) {
    const std::size_t first = std::min(options.first_output, member.tokens);
    const std::size_t end = std::clamp(options.end_output, first, member.tokens);
    kept.push_back({at, first, end - first});
    at += end - first;
  }
  return kept;
}

// Whether something after the last attention needs the rows of all tokens.
bool needs_all_rows(const Pass& pass) {
  const Network& network = pass.network;
  const bool mixes_tokens = !network.mixers.empty() && network.mixers.back().before == pass.sizes.layers;
  return mixes_tokens || !pass.options.on_output || pass.options.on_norm || pass.options.on_mixing ||
         !network.output.classifiers.empty();
}

std::size_t count_rows(std::span<const Member> members) {
  return members.back().first + members.back().tokens;
}

}  // namespace

Stack::Stack(Pass& pass, const NetworkInput& in, const ScoreBias& bias, bool causal, std::vector<Member> batch,
             const std::function<void(std::size_t input, MatrixSpan rows)>& start)
    : members(std::move(batch)),
      kept(all_rows(members)),
      positions(pass.model, pass.network, bias, causal, shapes_of(members)),
      stream(count_rows(members), pass.sizes.d_model),
      read(stream.rows(), stream.columns()),
      written(stream.rows(), stream.columns()),
      heads(stream.rows(), pass.sizes.heads * pass.sizes.d_head) {
  const bool takes_inputs = in.token_inputs != nullptr;  // which depend on the embedding
  for (const Member& member : members) {
    if (!start || takes_inputs) embed(pass.model, pass.network, in, *member.content, rows(stream, member));
  }
  if (takes_inputs) compute_layer_inputs(pass, in);
  for (const Member& member : members) {
    if (start) start(member.input, rows(stream, member));
  }
  const StoredTensor* project = in.project ? in.project->weight : nullptr;
  pass.require_finite(stream.view(), {in.embedding, in.positions, in.token_types, project, in.patches.weight},
                      "the embedding");
  begin_side_streams(pass, *this);
  lent_keys.restore(pass, members);
}

void Stack::compute_layer_inputs(Pass& pass, const NetworkInput& in) {
  layer_inputs = Matrix(stream.rows(), in.token_inputs->shape[1]);
  for (const Member& member : members) {
    const Matrix own = token_inputs(pass.model, in, member.content->ids, rows(stream, member).view(), pass.scratch);
    std::ranges::copy(own.values(), layer_inputs.row(member.first).begin());
  }
}

void Stack::read_stream(const std::optional<Norm>& norm) {
  if (norm) {
    norm->apply(stream.view(), read.span());
  } else {
    std::ranges::copy(stream.values(), read.values().begin());
  }
}

void Stack::keep_requested_rows(const Pass& pass) {
  if (needs_all_rows(pass)) return;
  std::vector<KeptRows> requested = requested_rows(members, pass.options);
  const std::size_t count = requested.back().at + requested.back().count;
  if (count == 0 || count == stream.rows()) return;
  written = Matrix(count, written.columns());
  std::vector<Matrix*> shortened = {&stream, &read, &heads};
  if (predicted.rows() > 0) shortened.push_back(&predicted);
  for (Matrix& side : side_streams) shortened.push_back(&side);
  for (Matrix* matrix : shortened) {
    Matrix rest(count, matrix->columns());
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (std::size_t t = 0; t < requested[k].count; ++t) {
        std::ranges::copy(matrix->row(members[k].first + requested[k].first + t),
                          rest.row(requested[k].at + t).begin());
      }
    }
    *matrix = std::move(rest);
  }
  kept = std::move(requested);
}

std::vector<float> add_branch(const Pass& pass, const Branch& branch, Matrix& output, Matrix& stream) {
  const bool post = pass.network.order == NormOrder::kPost;
  const float factor = pass.network.branch_factor;
  const std::optional<Norm>& norm = branch.norm;
  std::vector<float> scale;
  if (branch.scale != nullptr) scale = read_vector(pass.checkpoint, *branch.scale);
  std::vector<float> norm_factors(norm && pass.options.on_norm ? stream.rows() : 0);
  parallel_for_rows(stream.rows(), [&](std::size_t i) {
    const auto apply = [&](std::span<float> row) {
      if (!norm_factors.empty()) norm_factors[i] = norm->factor(row);
      norm->apply_row(row, row);
    };
    if (norm && !post) apply(output.row(i));
    if (factor != 1) {
      for (float& value : output.row(i)) value *= factor;
    }
    add_scaled(output.row(i), scale, stream.row(i));
    if (norm && post) apply(stream.row(i));
  });
  return norm_factors;
}

}  // namespace headscope
