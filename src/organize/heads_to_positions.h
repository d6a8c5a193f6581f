#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/haar.h"

namespace headscope {

/// The positions of a map, query * keys + key, dealt out to ranks in blocks that are the same for any number of them;
/// a rank may have none.
class PositionShares {
 public:
  PositionShares(std::size_t positions, std::size_t block, std::size_t ranks)
      : positions_(positions), block_(block), ranks_(ranks) {}

  [[nodiscard]] std::size_t block() const noexcept { return block_; }
  [[nodiscard]] Share of(std::size_t rank) const noexcept;

 private:
  std::size_t positions_;
  std::size_t block_;
  std::size_t ranks_;
};

/// Blocks of positions that are also the blocks of lines in which the Haar transform along heads goes.
[[nodiscard]] PositionShares share_positions(const TensorShare& tensor, const HaarBasis& head);

/// Calls `make(head)` for heads from 0 on, whose maps have so many entries: on a thread each, or one after another on
/// the calling thread where a large map gives the threads more to do, which `make` then uses.
void for_each_head(std::size_t heads, std::size_t map_size, const std::function<void(std::size_t)>& make);

/// `make(own head, map)` for every head of this rank, and what all ranks have made, [all heads, own positions], as
/// `result`, which need not be made anew if it has the size.
///
/// One rank alone makes its maps where they stay. Several make and exchange some heads at a time, and make the next
/// while these are under way: beside the result a rank holds three times up to 2 MB, or three maps if that is more.
void heads_to_positions(const TensorShare& tensor, const PositionShares& positions,
                        const std::function<void(std::size_t, std::span<float>)>& make, Buffer<float>& result);

}  // namespace headscope
