#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "headscope/organize/tensor_share.h"
#include "support/thread_ranks.h"

namespace headscope::test {

/// The part of a tensor that one of `size` ranks has.
inline NetworkTensor tensor_part(const NetworkTensor& whole, std::size_t rank, std::size_t size) {
  const IndexRange heads = partition_range(whole.heads(), rank, size);
  const auto cut = [&](std::size_t head) { return static_cast<std::ptrdiff_t>(head * whole.map_size()); };
  NetworkTensor part;
  part.extents = {heads.size(), whole.queries(), whole.keys()};
  part.values = Buffer<float>(heads.size() * whole.map_size());
  std::copy(whole.values.values().begin() + cut(heads.begin), whole.values.values().begin() + cut(heads.end),
            part.values.values().begin());
  part.mask_per_head = whole.mask_per_head;
  if (!whole.mask_per_head) {
    part.present = whole.present;
  } else {
    part.present.assign(whole.present.begin() + cut(heads.begin), whole.present.begin() + cut(heads.end));
  }
  part.kind = whole.kind;
  part.head_names.assign(whole.head_names.begin() + static_cast<std::ptrdiff_t>(heads.begin),
                         whole.head_names.begin() + static_cast<std::ptrdiff_t>(heads.end));
  part.query_positions = whole.query_positions;
  part.key_positions = whole.key_positions;
  return part;
}

/// Runs `work(share)` on `size` ranks concurrently, each with its part of the tensor.
inline void on_shares(const NetworkTensor& whole, std::size_t size,
                      const std::function<void(const TensorShare&)>& work) {
  on_ranks(size, [&](Ranks& ranks) {
    const NetworkTensor part = tensor_part(whole, ranks.rank(), size);
    work(TensorShare(part, whole.head_names, ranks));
  });
}

}  // namespace headscope::test
