#include "app/organize_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/input_folders.h"
#include "headscope/base/error.h"
#include "headscope/tree/tree_agreement.h"

namespace headscope {

Gain OrganizedInput::gain(RowPermutation kind, std::optional<std::size_t> head_index) const {
  const auto l1 = [&](const SparsityValues& values) {
    return head_index ? values.heads[*head_index].l1 : values.network.l1;
  };
  std::vector<double> control;
  for (const ControlDraw& draw : kind == RowPermutation::kRows ? rows : keys_kept) control.push_back(l1(draw.figures));
  return gain_over(l1(found), control);
}

bool OrganizedInput::gains(std::optional<std::size_t> head_index) const {
  const double least = head_index ? kHeadGain : kNetworkGain;
  const auto reached = [&](RowPermutation kind) { return gain(kind, head_index).mean >= least; };
  if (!reached(RowPermutation::kRows) || !reached(RowPermutation::kKeys)) return false;
  if (head_index) return true;
  return static_cast<double>(heads_gaining()) >= kHeadShare * static_cast<double>(found.heads.size());
}

std::size_t OrganizedInput::heads_gaining() const {
  std::size_t count = 0;
  for (std::size_t h = 0; h < found.heads.size(); ++h) count += gains(h) ? 1 : 0;
  return count;
}

}  // namespace headscope

namespace headscope::app {
namespace {

// The maps of another input; nothing if they do not fit the first one, with the reason.
std::optional<MapSource> load_other(const MapSelection& selection, const MapInfo& first, const MapUse& use,
                                    const Context& context, std::string& reason) {
  try {
    MapSource source = load_maps(selection, /*keep_absent=*/false, use, context);
    if (source.info.head_names == first.head_names) return source;
    reason = "its heads are not those of the first input";
  } catch (const Error& error) {
    // Raised on all ranks: the ranges that were asked for do not exist in this input, or it is too short.
    if (error.kind() != ErrorKind::kInvalidArgument && error.kind() != ErrorKind::kUnsupported) throw;
    reason = error.what();
  }
  return std::nullopt;
}

QuestionnaireOptions fitting_start(QuestionnaireOptions options, const TensorShare& tensor) {
  if (options.query_start && options.query_start->size() != tensor.extent(TensorAxis::kQuery)) options.query_start = {};
  if (options.key_start && options.key_start->size() != tensor.extent(TensorAxis::kKey)) options.key_start = {};
  return options;
}

const PartitionTree& tree_of(const OrganizedInput& input, TensorAxis axis) {
  return axis == TensorAxis::kHead ? input.head : axis == TensorAxis::kQuery ? input.query : input.key;
}

const PartitionTree& tree_of(const ControlDraw& draw, TensorAxis axis) {
  return axis == TensorAxis::kHead ? draw.head : axis == TensorAxis::kQuery ? draw.query : draw.key;
}

// From the geometric mean of the affinities.
PartitionTree consensus_tree(const OrganizeOutcome& outcome) {
  DoubleMatrix mean = outcome.inputs.front().head_affinity;
  const double share = 1 / static_cast<double>(outcome.inputs.size());
  for (std::size_t i = 0; i < mean.values().size(); ++i) {
    double sum = 0;
    // An affinity that underflowed counts as the smallest number.
    for (const OrganizedInput& input : outcome.inputs) {
      sum += std::log(std::max(input.head_affinity.values()[i], 1e-300));
    }
    mean.values()[i] = std::exp(sum * share);
  }
  return outcome.options.tree == TreeKind::kFlexible ? flexible_tree(mean, outcome.options.flexible)
                                                     : binary_tree(mean, outcome.options.binary);
}

}  // namespace

MapUse map_use(const OrganizeRequest& request) noexcept {
  return {.copies = request.controls > 0 ? std::size_t{3} : std::size_t{2}};
}

Context InputWork::step(std::size_t input, std::size_t number) const {
  const auto all = static_cast<double>(inputs_ * steps());
  const auto done = static_cast<double>(input * steps() + number);
  return context_.part(done / all, (done + 1) / all);
}

Context InputWork::beside_maps(std::size_t input, std::size_t number, const TensorShare& tensor) const {
  const std::size_t held =
      map_use(request_).copies * tensor.own().values.size() * kEntryBytes + pair_memory(tensor.extents());
  return step(input, number).without_memory(tensor.ranks().all_reduce_max(held));
}

Context InputWork::of_maps(std::size_t input, const TensorShare& tensor) const {
  return beside_maps(input, 0, tensor);
}

OrganizedInput InputWork::with_controls(std::size_t input, const MapSource& source, const TensorShare& tensor,
                                        const QuestionnaireOptions& options, const Organization& organization,
                                        SparsityValues found) const {
  OrganizedInput result{.name = name_of(source),
                        .queries = tensor.own().queries(),
                        .keys = tensor.own().keys(),
                        .found = std::move(found),
                        .rows = {},
                        .keys_kept = {},
                        .head_affinity = organization.head.affinity,
                        .head = organization.head.tree,
                        .query = organization.query.tree,
                        .key = organization.key.tree};
  std::size_t number = 1;
  for (std::size_t draw = 0; draw < request_.controls; ++draw) {
    const auto control = [&](RowPermutation kind) {
      return draw_control(tensor, kind, options, request_.seed, draw, beside_maps(input, number++, tensor));
    };
    result.rows.push_back(control(RowPermutation::kRows));
    result.keys_kept.push_back(control(RowPermutation::kKeys));
  }
  return result;
}

void InputWork::add_input(std::size_t input, const std::filesystem::path& folder, const MapInfo& first,
                          OrganizeOutcome& outcome) const {
  std::string reason;
  const std::optional<MapSource> source =
      load_other(in_folder(request_.maps, folder), first, map_use(request_), context_, reason);
  if (!source) {
    outcome.left_out.push_back(fmt::format("input {}: {}", input, reason));
    return;
  }
  const TensorShare tensor = source->share(context_.ranks);
  QuestionnaireOptions options = fitting_start(outcome.options, tensor);
  options.keep_scores = false;
  const Organization found = organize(tensor, options, of_maps(input, tensor));
  SparsityValues figures = measure_figures(tensor, found.head.tree, found.query.tree, found.key.tree);
  outcome.inputs.push_back(with_controls(input, *source, tensor, options, found, std::move(figures)));
}

SparsityValues values_of(const Sparsity& sparsity) {
  SparsityValues values{{}, sparsity.network.found};
  for (const SparsityRow& row : sparsity.heads) values.heads.push_back(row.found);
  return values;
}

void compare_inputs(OrganizeOutcome& outcome) {
  const std::vector<OrganizedInput>& inputs = outcome.inputs;
  if (inputs.size() < 2) return;
  for (const TensorAxis axis : kTensorAxes) {
    for (std::size_t a = 0; a < inputs.size(); ++a) {
      for (std::size_t b = a + 1; b < inputs.size(); ++b) {
        const bool same = tree_of(inputs[a], axis).size() == tree_of(inputs[b], axis).size();
        if (!same || tree_of(inputs[a], axis).size() < 2) continue;
        const bool controlled = !inputs[a].rows.empty() && !inputs[b].rows.empty();
        outcome.stability.push_back(
            {axis, a, b, cophenetic_correlation(tree_of(inputs[a], axis), tree_of(inputs[b], axis)),
             controlled
                 ? cophenetic_correlation(tree_of(inputs[a].rows.front(), axis), tree_of(inputs[b].rows.front(), axis))
                 : std::nan("")});
      }
    }
  }
  if (inputs.front().head.size() > 1) outcome.consensus = consensus_tree(outcome);
}

}  // namespace headscope::app
