#include "organize/heads_to_positions.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

constexpr std::size_t kRoundFloats = std::size_t{1} << 19;  // that a rank makes per round

// Heads are made and exchanged in rounds. All ranks have the same number of rounds; a rank with fewer heads makes none
// in the last ones.
class Rounds {
 public:
  Rounds(const TensorShare& tensor, const PositionShares& positions)
      : tensor_(tensor),
        positions_(positions),
        ranks_(tensor.ranks()),
        map_(tensor.own().map_size()),
        here_(positions.of(ranks_.rank()).size()),
        heads_(std::max<std::size_t>(1, kRoundFloats / std::max<std::size_t>(1, map_))) {}

  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t most = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) most = std::max(most, tensor_.heads_of(rank).size());
    return (most + heads_ - 1) / heads_;
  }
  // Heads that a rank makes in a round.
  [[nodiscard]] IndexRange heads(std::size_t rank, std::size_t round) const noexcept {
    const IndexRange all = tensor_.heads_of(rank);
    return {std::min(all.end, all.begin + round * heads_), std::min(all.end, all.begin + (round + 1) * heads_)};
  }

  // Splits the maps of a round into the parts for each rank and starts the exchange. The part of this rank is copied
  // directly to `result`.
  void give(const Buffer<float>& maps, std::size_t round, Buffer<float>& result) {
    const IndexRange own = heads(ranks_.rank(), round);
    std::vector<std::size_t> counts(ranks_.size(), 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank != ranks_.rank()) counts[rank] = own.size() * positions_.of(rank).size();
    }
    const std::vector<std::span<float>> room = ranks_.exchange_buffers(counts);
    parallel_for(own.size(), [&](std::size_t head) {
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const IndexRange there = positions_.of(rank);
        float* to = rank == ranks_.rank() ? result.data() + (own.begin + head) * here_
                                          : room[rank].data() + head * there.size();
        copy(maps.data() + head * map_ + there.begin, there.size(), to);
      }
    });
    ranks_.begin_exchange();
  }

  void take(std::size_t round, Buffer<float>& result) {
    std::vector<std::size_t> expected;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) expected.push_back(heads(rank, round).size() * here_);
    const std::vector<std::span<const float>> parts = ranks_.finish_exchange(expected);
    parallel_for(parts.size(), [&](std::size_t rank) {
      copy(parts[rank].data(), parts[rank].size(), result.data() + heads(rank, round).begin * here_);
    });
  }

 private:
  static void copy(const float* from, std::size_t count, float* to) noexcept {
    if (count > 0) std::memcpy(to, from, count * sizeof(float));
  }

  const TensorShare& tensor_;
  const PositionShares& positions_;
  Ranks& ranks_;
  std::size_t map_;
  std::size_t here_;   // positions of this rank
  std::size_t heads_;  // maximum number of heads per round
};

}  // namespace

IndexRange PositionShares::of(std::size_t rank) const noexcept {
  const IndexRange blocks = partition_range((positions_ + block_ - 1) / block_, rank, ranks_);
  return {std::min(positions_, blocks.begin * block_), std::min(positions_, blocks.end * block_)};
}

PositionShares share_positions(const TensorShare& tensor, const HaarBasis& head) {
  const std::size_t positions = tensor.own().map_size();
  return {positions, haar_block_lines(head, positions), tensor.ranks().size()};
}

void for_each_head(std::size_t heads, std::size_t map_size, const std::function<void(std::size_t)>& make) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // entries of a map that one thread transforms at a time
  if (heads >= std::min(thread_count(), map_size / kBlock + 1)) return parallel_for(heads, make);
  for (std::size_t head = 0; head < heads; ++head) make(head);
}

void heads_to_positions(const TensorShare& tensor, const PositionShares& positions,
                        const std::function<void(std::size_t, std::span<float>)>& make, Buffer<float>& result) {
  Ranks& ranks = tensor.ranks();
  const std::size_t map = tensor.own().map_size();
  const std::size_t size = tensor.heads() * positions.of(ranks.rank()).size();
  if (result.size() != size) result = Buffer<float>(size);
  const auto make_some = [&](const IndexRange& heads, std::span<float> maps) {
    for_each_head(heads.size(), map,
                  [&](std::size_t h) { make(heads.begin + h - tensor.own_heads().begin, maps.subspan(h * map, map)); });
  };
  if (ranks.size() == 1) return make_some(tensor.own_heads(), result.values());

  Rounds rounds(tensor, positions);
  Buffer<float> maps(rounds.heads(ranks.rank(), 0).size() * map);
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    make_some(rounds.heads(ranks.rank(), round), maps.values());
    if (round > 0) rounds.take(round - 1, result);
    rounds.give(maps, round, result);
  }
  rounds.take(rounds.count() - 1, result);
}

}  // namespace headscope
