#include "headscope/patch/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/model/layer_order.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

// Tokens of all cuts that run together. Larger batches do not make the matrix products faster.
constexpr std::size_t kBatchTokens = 4096;

std::size_t all_tokens(const RecordedPass& record) {
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < record.inputs().size(); ++i) tokens += record.tokens(i);
  return tokens;
}

void copy(MatrixView from, MatrixSpan to) {
  for (std::size_t t = 0; t < from.rows(); ++t) {
    std::copy_n(from.data() + t * from.row_stride(), from.columns(), to.row(t).begin());
  }
}

}  // namespace

CutMeter::CutMeter(const RecordedPass& record, const HeadChange& change, std::span<const std::vector<Readout>> readouts)
    : record_(record), change_(change), readouts_(readouts) {
  for (const std::vector<Readout>& of_input : readouts) count_ += of_input.size();
  if (count_ == 0 || readouts.size() != record.inputs().size()) {
    throw Error(ErrorKind::kInvalidArgument, "no prediction to measure the effect of a cut on");
  }
}

void CutMeter::want_readouts(ForwardOptions& pass) const {
  pass.first_output = pass.end_output;
  pass.end_output = 0;
  for (const std::vector<Readout>& of_input : readouts_) {
    for (const Readout& one : of_input) {
      pass.first_output = std::min(pass.first_output, one.row);
      pass.end_output = std::max(pass.end_output, one.row + 1);
    }
  }
}

double CutMeter::before(const Context& context) const {
  std::vector<ReadoutSum> sums(readouts_.begin(), readouts_.end());
  ForwardOptions pass;
  want_readouts(pass);
  pass.on_output = [&](const OutputRows& rows) { sums[rows.input].add(rows); };
  run_forward(record_.model(), record_.inputs(), pass, context);
  double sum = 0;
  for (const ReadoutSum& one : sums) sum += one.sum();
  return sum / static_cast<double>(count_);
}

CutMeter::Cut CutMeter::cut_of(const PatchEdge& edge) const {
  return {.source = edge.source,
          .reader = Reader::kHead,
          .layer = record_.model().info().sizes.layer_of(edge.target).value(),
          .role = edge.role,
          .head = edge.target.head,
          .id = fmt::format("{} {} {}", letter(edge.role), to_string(edge.source), to_string(edge.target))};
}

// The stream after the last layer is not recorded, so what the unembedding reads is changed after running that layer.
CutMeter::Cut CutMeter::cut_of(const ComponentCut& cut) const {
  const HeadSizes& sizes = record_.model().info().sizes;
  const bool mlp = cut.target.kind == ComponentKind::kMlp;
  return {.source = cut.source,
          .reader = mlp ? Reader::kMlp : Reader::kUnembedding,
          .layer = mlp ? layer_of_mlp(cut.target, sizes).value() : sizes.layers - 1,
          .role = Role::kO,
          .head = 0,
          .id = fmt::format("{} {}", to_string(cut.source), to_string(cut.target))};
}

std::vector<double> CutMeter::measure(std::span<const PatchEdge> edges, const Context& context,
                                      FinishedWork* finished) const {
  std::vector<Cut> cuts;
  for (const PatchEdge& edge : edges) {
    check_edge(edge, record_.model().info().sizes);
    cuts.push_back(cut_of(edge));
  }
  return measure_all(cuts, context, finished);
}

std::vector<double> CutMeter::measure_components(std::span<const ComponentCut> edges, const Context& context,
                                                 FinishedWork* finished) const {
  const HeadSizes& sizes = record_.model().info().sizes;
  const Network network = resolve_network(record_.model());
  std::vector<Cut> cuts;
  for (const ComponentCut& edge : edges) {
    check_cut(edge, sizes, network.parallel);
    if (!edge.target.is_mlp()) require_read_by_unembedding(network);
    if (edge.target.is_mlp() && !network.layers[*layer_of_mlp(edge.target, sizes)].has_mlp) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("there is no {}: the layer has no MLP", to_string(edge.target)));
    }
    cuts.push_back(cut_of(edge));
  }
  return measure_all(cuts, context, finished);
}

std::vector<double> CutMeter::measure_all(std::span<const Cut> cuts, const Context& context,
                                          FinishedWork* finished) const {
  std::map<std::pair<std::size_t, Reader>, std::vector<std::size_t>> by_layer;
  for (std::size_t i = 0; i < cuts.size(); ++i) by_layer[{cuts[i].layer, cuts[i].reader}].push_back(i);
  std::vector<double> values(cuts.size());
  std::size_t done = 0;
  for (auto& [place, indices] : by_layer) {
    const std::size_t at_once = cuts_at_once(place.first, context);
    // O is read once per source layer.
    std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return cuts[i].source; });
    for (std::size_t first = 0; first < indices.size(); first += at_once) {
      const std::span<const std::size_t> part =
          std::span(indices).subspan(first, std::min(at_once, indices.size() - first));
      std::vector<Cut> batch;
      for (const std::size_t i : part) batch.push_back(cuts[i]);
      const auto all = static_cast<double>(cuts.size());
      const double begin = static_cast<double>(done) / all;
      done += part.size();
      const std::vector<double> found =
          measure_or_restore(batch, context.part(begin, static_cast<double>(done) / all), finished);
      for (std::size_t k = 0; k < part.size(); ++k) values[part[k]] = found[k];
    }
  }
  return values;
}

std::vector<double> CutMeter::measure_or_restore(std::span<const Cut> batch, const Context& context,
                                                 FinishedWork* finished) const {
  if (finished == nullptr) return measure_batch(batch, context);
  // Which cuts share a batch shows in the last bits, so only whole batches are restored.
  std::string id;
  for (const Cut& cut : batch) id += cut.id + ";";
  std::vector<double> values(batch.size());
  if (const auto found = finished->find(id); found && found->size() == values.size() * sizeof(double)) {
    MessageReader(*found).take_all(std::span(values));
    return values;
  }
  values = measure_batch(batch, context);
  finished->keep(id, std::as_bytes(std::span(values)));
  return values;
}

std::size_t CutMeter::cuts_at_once(std::size_t layer, const Context& context) const {
  const HeadSizes& sizes = record_.model().info().sizes;
  std::size_t running = all_tokens(record_);
  const std::size_t bytes = running * sizes.d_model * sizeof(float);
  require_memory(context, bytes, "the change of a cut");
  if (sizes.has_blocks() && step_of(sizes, layer) >= sizes.encoder_layers) {  // no source is run again
    for (std::size_t i = 0; i < record_.inputs().size(); ++i) running -= record_.counts(i).source;
  }
  // A quarter of the memory for changes; the rest is for the passes.
  return std::max<std::size_t>(1, std::min(kBatchTokens / running, context.memory / 4 / bytes));
}

// What a cut adds to the stream that its target reads.
Matrix CutMeter::change_of(const Cut& cut, std::size_t input, const HeadWeights& writes) const {
  const HeadSizes& sizes = record_.model().info().sizes;
  switch (cut.reader) {
    case Reader::kHead:
      return change_.of_stream(cut.source, steps_before(sizes, cut.layer, cut.role).end, input, writes);
    case Reader::kMlp:
      return change_.before_mlp(cut.source, cut.layer, input, writes);
    case Reader::kUnembedding:
      break;
  }
  return change_.of_stream(cut.source, sizes.layers, input, writes);
}

std::vector<double> CutMeter::measure_batch(std::span<const Cut> batch, const Context& context) const {
  const std::size_t inputs = record_.inputs().size();
  const std::size_t layer = batch.front().layer;
  const HeadSizes& sizes = record_.model().info().sizes;
  const std::size_t held = batch.size() * all_tokens(record_) * sizes.d_model * sizeof(float);
  std::vector<Matrix> changes(batch.size() * inputs);
  HeadWeights writes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t source = sizes.layer_of(batch[i].source).value();
    if (i == 0 || source != sizes.layer_of(batch[i - 1].source)) {
      writes = change_.load_writes(source, std::move(writes));
    }
    parallel_for(inputs, [&](std::size_t input) { changes[i * inputs + input] = change_of(batch[i], input, writes); });
  }
  std::vector<ReadoutSum> sums;
  for (std::size_t i = 0; i < changes.size(); ++i) sums.emplace_back(readouts_[i % inputs]);
  ForwardOptions pass;
  pass.copies = batch.size();
  pass.begin_layer = layer;
  pass.start = [&](std::size_t copied, MatrixSpan rows) { copy(record_.stream(layer, copied % inputs), rows); };
  pass.start_side = [&](std::size_t copied, std::size_t side, MatrixSpan rows) {
    copy(record_.side(layer, side, copied % inputs), rows);
  };
  pass.lent_keys = [&](std::size_t copied, std::size_t lender) { return record_.lent_keys(lender, copied % inputs); };
  if (sizes.has_blocks()) {
    pass.encoder_output = [&](std::size_t copied, MatrixSpan rows) {
      copy(record_.encoder_output(copied % inputs), rows);
    };
  }
  const auto whole = [&](std::size_t copied) { return changes[copied].view(); };
  switch (batch.front().reader) {
    case Reader::kHead:
      pass.edits = [&](std::size_t copied) {
        const Cut& cut = batch[copied / inputs];
        return std::vector<ReadEdit>{{cut.role, cut.head, changes[copied].view()}};
      };
      break;
    case Reader::kMlp:
      pass.mlp_change = whole;
      break;
    case Reader::kUnembedding:
      pass.output_change = whole;
      break;
  }
  want_readouts(pass);
  pass.on_output = [&](const OutputRows& rows) { sums[rows.input].add(rows); };
  run_forward(record_.model(), record_.inputs(), pass, context.without_memory(held));
  std::vector<double> values(batch.size());
  for (std::size_t i = 0; i < sums.size(); ++i) values[i / inputs] += sums[i].sum() / static_cast<double>(count_);
  return values;
}

}  // namespace headscope
