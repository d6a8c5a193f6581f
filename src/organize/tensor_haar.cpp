#include "headscope/organize/tensor_haar.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "headscope/base/message.h"
#include "organize/heads_to_positions.h"

namespace headscope {
namespace {

// Transforms queries and keys of one head.
void transform_map(std::span<float> entries, const TensorHaar& haar, HaarDirection direction) {
  const std::size_t queries = haar.extents[1];
  const std::size_t keys = haar.extents[2];
  if (haar.bases[2] != nullptr) haar_transform(entries, queries, *haar.bases[2], 1, direction);
  if (haar.bases[1] != nullptr) haar_transform(entries, 1, *haar.bases[1], keys, direction);
}

// Computes the coefficients of one head of this rank along queries and keys.
void transform_own(const TensorShare& tensor, std::size_t head, const TensorHaar& haar, std::span<float> entries) {
  fill_map(tensor.own(), head, entries);
  transform_map(entries, haar, HaarDirection::kForward);
}

// Adds the numbers of all ranks in rank order: the same bits as on a single rank with all the numbers.
double add_in_order(Ranks& ranks, std::span<const double> numbers) {
  double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (ranks.size() == 1) return sum;
  ranks.gather(std::as_bytes(numbers), [&](std::size_t, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    while (message.remaining() > 0) sum += message.take<double>();
  });
  MessageWriter known;
  known.put(sum);
  std::vector<std::byte> everywhere = std::move(known).release();
  ranks.broadcast(everywhere);
  return MessageReader(everywhere).take<double>();
}

// A few megabytes at a time.
template <typename Visit>
void for_each_piece(std::size_t count, const Visit& visit) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t begin = 0; begin < count; begin += kPiece) visit(IndexRange{begin, std::min(count, begin + kPiece)});
}

std::span<const float> part(const Buffer<float>& values, const IndexRange& share) {
  return values.values().subspan(share.begin, share.size());
}

// Passes coefficients [all heads, positions of one rank], starting at index `begin`, to `consume` as contiguous runs of
// the whole tensor.
void consume_runs(std::span<const float> values, std::size_t begin, const IndexRange& positions, std::size_t map,
                  const std::function<void(std::size_t, std::span<const float>)>& consume) {
  if (positions.size() == map) return consume(begin, values);
  while (!values.empty()) {
    const std::size_t head = begin / positions.size();
    const std::size_t within = begin % positions.size();
    const std::size_t count = std::min(values.size(), positions.size() - within);
    consume(head * map + positions.begin + within, values.first(count));
    values = values.subspan(count);
    begin += count;
  }
}

double energy(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// Sets the coefficients that `keeps` rejects to zero.
template <typename Keeps>
Kept keep_if(std::span<float> coefficients, const Keeps& keeps) {
  Kept kept;
  double lost = 0;
  const double total = energy(coefficients);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (keeps(i)) {
      ++kept.count;
      continue;
    }
    lost += static_cast<double>(coefficients[i]) * static_cast<double>(coefficients[i]);
    coefficients[i] = 0;
  }
  kept.error = total > 0 ? std::sqrt(lost / total) : 0;
  return kept;
}

}  // namespace

void transform(std::span<float> values, const TensorHaar& haar, HaarDirection direction) {
  assert(values.size() == haar.size());
  const std::size_t map = haar.extents[1] * haar.extents[2];
  for_each_head(haar.extents[0], map,
                [&](std::size_t head) { transform_map(values.subspan(head * map, map), haar, direction); });
  if (haar.bases[0] != nullptr) haar_transform(values, 1, *haar.bases[0], map, direction);
}

double coefficient_l1(const TensorShare& tensor, const TensorHaar& haar, Buffer<float>& work) {
  assert(tensor.extents() == haar.extents);
  const NetworkTensor& own = tensor.own();
  const auto make = [&](std::size_t head, std::span<float> entries) { transform_own(tensor, head, haar, entries); };
  if (haar.bases[0] != nullptr) {
    const PositionShares positions = share_positions(tensor, *haar.bases[0]);
    heads_to_positions(tensor, positions, make, work);
    const std::size_t here = positions.of(tensor.ranks().rank()).size();
    return add_in_order(tensor.ranks(), haar_l1_blocks(work.values(), *haar.bases[0], here, positions.block()));
  }
  // No basis along heads: each head is transformed on the rank that owns it.
  if (work.size() != own.values.size()) work = Buffer<float>(own.values.size());
  std::vector<double> sums(own.heads(), 0);
  for_each_head(own.heads(), own.map_size(), [&](std::size_t head) {
    const std::span<float> entries = work.values().subspan(head * own.map_size(), own.map_size());
    make(head, entries);
    for (const float value : entries) sums[head] += std::abs(static_cast<double>(value));
  });
  return add_in_order(tensor.ranks(), sums);
}

void stream_coefficients(const TensorShare& tensor, const TensorHaar& haar,
                         const std::function<void(std::size_t, std::span<const float>)>& consume) {
  assert(tensor.extents() == haar.extents && haar.bases[0] != nullptr);
  Ranks& ranks = tensor.ranks();
  const PositionShares positions = share_positions(tensor, *haar.bases[0]);
  const auto make = [&](std::size_t head, std::span<float> entries) { transform_own(tensor, head, haar, entries); };
  Buffer<float> own;
  heads_to_positions(tensor, positions, make, own);
  haar_transform(own.values(), 1, *haar.bases[0], positions.of(ranks.rank()).size(), HaarDirection::kForward);

  if (!ranks.is_root()) {
    for_each_piece(own.size(), [&](const IndexRange& piece) { ranks.send(0, std::as_bytes(part(own, piece))); });
    return;
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const IndexRange there = positions.of(rank);
    for_each_piece(tensor.heads() * there.size(), [&](const IndexRange& piece) {
      if (rank == 0) return consume_runs(part(own, piece), piece.begin, there, tensor.own().map_size(), consume);
      Buffer<float> received(piece.size());
      MessageReader(ranks.receive(rank)).take_all(received.values());
      consume_runs(received.values(), piece.begin, there, tensor.own().map_size(), consume);
    });
  }
}

double folder_volume(const TensorHaar& haar, std::size_t coefficient) {
  const std::array<std::size_t, 3> at = {coefficient / (haar.extents[1] * haar.extents[2]),
                                         coefficient / haar.extents[2] % haar.extents[1],
                                         coefficient % haar.extents[2]};
  double volume = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (haar.bases[axis] != nullptr) volume *= haar.bases[axis]->volumes()[at[axis]];
  }
  return volume;
}

Kept keep_largest(std::span<float> coefficients, std::size_t k) {
  if (k >= coefficients.size()) return keep_if(coefficients, [](std::size_t) { return true; });
  if (k == 0) return keep_if(coefficients, [](std::size_t) { return false; });
  std::vector<float> magnitudes(coefficients.size());
  std::transform(coefficients.begin(), coefficients.end(), magnitudes.begin(), [](float x) { return std::abs(x); });
  const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>());
  const float threshold = *last;
  std::size_t ties = k;  // how many of those equal to the threshold are kept
  for (const float x : coefficients) ties -= std::abs(x) > threshold ? 1 : 0;
  return keep_if(coefficients, [&](std::size_t i) {
    const float magnitude = std::abs(coefficients[i]);
    if (magnitude != threshold) return magnitude > threshold;
    return ties > 0 && ties-- > 0;
  });
}

Kept keep_above(std::span<float> coefficients, float smallest) {
  return keep_if(coefficients, [&](std::size_t i) { return std::abs(coefficients[i]) >= smallest; });
}

Kept keep_coarse(std::span<float> coefficients, const TensorHaar& haar, double smallest) {
  return keep_if(coefficients, [&](std::size_t i) { return folder_volume(haar, i) >= smallest; });
}

}  // namespace headscope
