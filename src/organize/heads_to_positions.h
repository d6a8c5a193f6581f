#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/haar.h"

namespace headscope {

/// The positions of a map, query * keys + key, assigned to ranks in blocks that do not depend on the number of ranks. A
/// rank may have none.
class PositionShares {
 public:
  PositionShares(std::size_t positions, std::size_t block, std::size_t ranks)
      : positions_(positions), block_(block), ranks_(ranks) {}

  [[nodiscard]] std::size_t block() const noexcept { return block_; }
  [[nodiscard]] IndexRange of(std::size_t rank) const noexcept;

 private:
  std::size_t positions_;
  std::size_t block_;
  std::size_t ranks_;
};

/// Returns shares whose blocks are also the blocks of lines used by the Haar transform along heads.
[[nodiscard]] PositionShares share_positions(const TensorShare& tensor, const HaarBasis& head);

/// Calls `make(head)` for `heads` heads with maps of `map_size` entries: in parallel over heads or, if the maps are
/// large and the heads few, one after another on the calling thread, so that `make` can use all threads.
void for_each_head(std::size_t heads, std::size_t map_size, const std::function<void(std::size_t)>& make);

/// Calls `make(own head, map)` for every head of this rank, and stores in `result` what all ranks made, [all heads, own
/// positions]. `result` is reallocated only if its size differs.
///
/// A single rank makes the maps in place. Several ranks make and exchange a few heads at a time, and make the next ones
/// while these are in flight. Besides the result, a rank then holds three buffers of up to 2 MB, or of one map if that
/// is larger.
void heads_to_positions(const TensorShare& tensor, const PositionShares& positions,
                        const std::function<void(std::size_t, std::span<float>)>& make, Buffer<float>& result);

}  // namespace headscope
