#include "headscope/patch/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"

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

void CutMeter::check(const PatchEdge& edge) const {
  const HeadSizes& sizes = record_.model().info().sizes;
  const auto exists = [&](HeadId id, bool key_value) {
    return id.layer < sizes.layers && id.head < (key_value ? sizes.kv_heads : sizes.heads);
  };
  const bool reads_key_value = edge.role != Role::kQ;
  if (edge.role == Role::kO || !exists(edge.source, false) || edge.source.key_value ||
      !exists(edge.target, reads_key_value)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the model has no edge from {} to {}: it has {} layers of {} heads and {} KV heads",
                            to_string(edge.source), to_string(edge.target), sizes.layers, sizes.heads, sizes.kv_heads));
  }
  if (edge.source.layer >= edge.target.layer) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{} is not in a later layer than {}: nothing flows there",
                                                         to_string(edge.target), to_string(edge.source)));
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

std::vector<double> CutMeter::measure(std::span<const PatchEdge> edges, const Context& context) const {
  for (const PatchEdge& edge : edges) check(edge);
  std::map<std::size_t, std::vector<std::size_t>> by_layer;
  for (std::size_t i = 0; i < edges.size(); ++i) by_layer[edges[i].target.layer].push_back(i);
  const std::size_t at_once = std::max<std::size_t>(1, kBatchTokens / all_tokens(record_));
  std::vector<double> values(edges.size());
  std::size_t done = 0;
  for (auto& [layer, indices] : by_layer) {
    // O is read once per source layer.
    std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return edges[i].source; });
    for (std::size_t first = 0; first < indices.size(); first += at_once) {
      const std::span<const std::size_t> part =
          std::span(indices).subspan(first, std::min(at_once, indices.size() - first));
      std::vector<PatchEdge> batch;
      for (const std::size_t i : part) batch.push_back(edges[i]);
      const double begin = static_cast<double>(done) / static_cast<double>(edges.size());
      done += part.size();
      const std::vector<double> found = measure_layer(
          layer, batch, context.part(begin, static_cast<double>(done) / static_cast<double>(edges.size())));
      for (std::size_t k = 0; k < part.size(); ++k) values[part[k]] = found[k];
    }
  }
  return values;
}

std::vector<double> CutMeter::measure_layer(std::size_t layer, std::span<const PatchEdge> edges,
                                            const Context& context) const {
  const std::size_t inputs = record_.inputs().size();
  std::vector<Matrix> changes(edges.size() * inputs);
  HeadWeights writes;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i == 0 || edges[i].source.layer != edges[i - 1].source.layer) {
      writes = record_.model().load_heads(edges[i].source.layer, Role::kO, WeightProcessing::kRaw, std::move(writes));
    }
    parallel_for(inputs, [&](std::size_t input) {
      changes[i * inputs + input] = change_.of_stream(edges[i].source, layer, input, writes);
    });
  }
  std::vector<ReadoutSum> sums;
  for (std::size_t i = 0; i < changes.size(); ++i) sums.emplace_back(readouts_[i % inputs]);
  ForwardOptions pass;
  pass.copies = edges.size();
  pass.begin_layer = layer;
  pass.start = [&](std::size_t copied, MatrixSpan rows) { copy(record_.stream(layer, copied % inputs), rows); };
  pass.edits = [&](std::size_t copied) {
    const PatchEdge& edge = edges[copied / inputs];
    return std::vector<ReadEdit>{{edge.role, edge.target.head, changes[copied].view()}};
  };
  want_readouts(pass);
  pass.on_output = [&](const OutputRows& rows) { sums[rows.input].add(rows); };
  run_forward(record_.model(), record_.inputs(), pass, context);
  std::vector<double> values(edges.size());
  for (std::size_t i = 0; i < sums.size(); ++i) values[i / inputs] += sums[i].sum() / static_cast<double>(count_);
  return values;
}

}  // namespace headscope
