#include "headscope/organize/sparsity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/organize/tensor_haar.h"
#include "headscope/tree/tree_agreement.h"
#include "organize/coefficient_summary.h"
#include "organize/heads_to_positions.h"

namespace headscope {
namespace {

constexpr std::array<const char*, 9> kNames = {"l1",       "needed_99", "top_0.1%", "top_1%", "top_10%",
                                               "error_1%", "error_10%", "entropy",  "alpha"};

SparsityFigures from_list(std::span<const double> list) {
  return {list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[8]};
}

using Figures = CoefficientSummary::Figures;
using Trees = std::array<const PartitionTree*, 3>;

// Results under one set of trees.
struct Measured {
  std::vector<Figures> heads;  // on this rank
  Figures network;             // on rank 0 only
};

// Merges the summaries of all ranks and returns the figures of the network, on rank 0.
Figures combine(const CoefficientPlan& plan, CoefficientSummary own, Ranks& ranks) {
  if (ranks.size() > 1) {
    MessageWriter message;
    if (!ranks.is_root()) own.put(message);
    ranks.gather(message.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
      MessageReader reader(bytes);
      own.add(CoefficientSummary::take(plan, reader));
    });
  }
  return ranks.is_root() ? std::move(own).finish() : Figures{};
}

Measured measure(const TensorShare& tensor, const Trees& trees, std::size_t entropy_terms, Buffer<float>& work) {
  const HaarBasis head(*trees[0]);
  const HaarBasis query(*trees[1]);
  const HaarBasis key(*trees[2]);
  Measured result;
  result.heads.resize(tensor.own().heads());
  const CoefficientPlan of_head({{1, trees[1]->size(), trees[2]->size()}, {nullptr, &query, &key}}, entropy_terms);
  const PositionShares positions = share_positions(tensor, head);
  heads_to_positions(
      tensor, positions,
      [&](std::size_t h, std::span<float> entries) {
        fill_map(tensor.own(), h, entries);
        transform(entries, of_head.haar, HaarDirection::kForward);
        result.heads[h] = summarize(of_head, 0, entries.size(), entries).finish();
      },
      work);

  const CoefficientPlan of_network({tensor.extents(), {&head, &query, &key}}, entropy_terms);
  const IndexRange here = positions.of(tensor.ranks().rank());
  haar_transform(work.values(), 1, head, here.size(), HaarDirection::kForward);
  CoefficientSummary own = summarize(of_network, here.begin, here.size(), std::as_const(work).values());
  result.network = combine(of_network, std::move(own), tensor.ranks());
  return result;
}

// Compares with the draws for one head or the network; `pick` extracts it from a measurement.
template <typename Pick>
SparsityRow compare(const Measured& found, std::span<const Measured> draws, const Pick& pick,
                    std::size_t coefficients) {
  SparsityRow row;
  row.found = pick(found).figures;
  const auto n = static_cast<double>(draws.size());
  std::vector<double> mean(kNames.size(), 0);
  std::vector<double> square(kNames.size(), 0);
  for (const Measured& draw : draws) {
    const auto list = as_list(pick(draw).figures);
    for (std::size_t i = 0; i < list.size(); ++i) mean[i] += list[i] / n;
  }
  for (const Measured& draw : draws) {
    const auto list = as_list(pick(draw).figures);
    for (std::size_t i = 0; i < list.size(); ++i) square[i] += (list[i] - mean[i]) * (list[i] - mean[i]);
  }
  std::vector<double> low(mean);
  std::vector<double> high(mean);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double half = student_95(draws.size() - 1) * std::sqrt(square[i] / (n - 1) * (1 + 1 / n));
    low[i] -= half;
    high[i] += half;
  }
  row.mean = from_list(mean);
  row.low = from_list(low);
  row.high = from_list(high);
  const auto ranks = curve_ranks(coefficients - 1);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    double shuffled = 0;
    for (const Measured& draw : draws) shuffled += pick(draw).curve[r] / n;
    row.decay.push_back({ranks[r], pick(found).curve[r], shuffled});
  }
  return row;
}

// Serializes rows without their names, for rank 0.
std::vector<std::byte> pack(std::span<const SparsityRow> rows) {
  MessageWriter message;
  for (const SparsityRow& row : rows) {
    for (const SparsityFigures& figures : {row.found, row.mean, row.low, row.high}) message.put(figures);
    message.put(row.decay.size());
    message.put_all(std::span(row.decay));
  }
  return std::move(message).release();
}

SparsityRow unpack(MessageReader& message) {
  SparsityRow row;
  for (SparsityFigures* figures : {&row.found, &row.mean, &row.low, &row.high}) {
    *figures = message.take<SparsityFigures>();
  }
  row.decay.resize(message.take<std::size_t>());
  message.take_all(std::span(row.decay));
  return row;
}

// Gathers the rows of all heads on rank 0; returns none on other ranks.
std::vector<SparsityRow> gather_heads(const TensorShare& tensor, std::vector<SparsityRow> rows) {
  Ranks& ranks = tensor.ranks();
  const bool root = ranks.is_root();
  ranks.gather(root ? std::vector<std::byte>() : pack(rows), [&](std::size_t, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    while (message.remaining() > 0) rows.push_back(unpack(message));
  });
  if (!root) return {};
  for (std::size_t h = 0; h < rows.size(); ++h) rows[h].name = tensor.head_names()[h];
  return rows;
}

void check(const TensorShare& tensor, const Trees& trees) {
  for (const TensorAxis axis : kTensorAxes) {
    const auto a = static_cast<std::size_t>(axis);
    if (trees[a]->size() == tensor.extents()[a]) continue;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("sparsity: the {} tree has {} elements, the tensor {}",
                                                         to_string(axis), trees[a]->size(), tensor.extents()[a]));
  }
}

}  // namespace

std::span<const char* const> sparsity_names() noexcept {
  return kNames;
}

std::vector<double> as_list(const SparsityFigures& f) {
  return {f.l1, f.needed_99, f.top_001, f.top_01, f.top_10, f.error_01, f.error_10, f.entropy, f.alpha};
}

std::optional<Sparsity> measure_sparsity(const TensorShare& tensor, const PartitionTree& head,
                                         const PartitionTree& query, const PartitionTree& key,
                                         const SparsityOptions& options, const Context& context) {
  check(tensor, {&head, &query, &key});
  if (options.draws < 2) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("sparsity: {} draws of shuffled trees, expected at least 2", options.draws));
  }
  Buffer<float> work;
  const auto report = [&](std::size_t done) {
    context.report(static_cast<double>(done) / static_cast<double>(options.draws + 1));
  };
  const Measured found = measure(tensor, {&head, &query, &key}, options.entropy_terms, work);
  report(1);
  std::vector<Measured> draws;
  for (std::size_t d = 0; d < options.draws; ++d) {
    const PartitionTree h = shuffled(head, options.seed, 3 * d);
    const PartitionTree q = shuffled(query, options.seed, 3 * d + 1);
    const PartitionTree k = shuffled(key, options.seed, 3 * d + 2);
    draws.push_back(measure(tensor, {&h, &q, &k}, options.entropy_terms, work));
    report(d + 2);
  }
  std::vector<SparsityRow> own;
  for (std::size_t i = 0; i < found.heads.size(); ++i) {
    own.push_back(compare(
        found, draws, [&](const Measured& m) -> const Figures& { return m.heads[i]; }, tensor.own().map_size()));
  }
  Sparsity result;
  result.heads = gather_heads(tensor, std::move(own));
  if (!tensor.ranks().is_root()) return std::nullopt;
  result.network = compare(
      found, draws, [](const Measured& m) -> const Figures& { return m.network; }, tensor.size());
  result.network.name = "network";
  return result;
}

SparsityValues measure_figures(const TensorShare& tensor, const PartitionTree& head, const PartitionTree& query,
                               const PartitionTree& key, std::size_t entropy_terms) {
  check(tensor, {&head, &query, &key});
  Buffer<float> work;
  const Measured measured = measure(tensor, {&head, &query, &key}, entropy_terms, work);
  SparsityValues result;
  for (const Figures& figures : measured.heads) result.heads.push_back(figures.figures);
  Ranks& ranks = tensor.ranks();
  MessageWriter message;
  if (!ranks.is_root()) message.put_all(std::span<const SparsityFigures>(result.heads));
  ranks.gather(message.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    MessageReader reader(bytes);
    while (reader.remaining() > 0) result.heads.push_back(reader.take<SparsityFigures>());
  });
  if (!ranks.is_root()) return {};
  result.network = measured.network.figures;
  return result;
}

}  // namespace headscope
