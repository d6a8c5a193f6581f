#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>

#include "headscope/organize/tree_distance.h"
#include "support/random_tensor.h"
#include "support/random_tree.h"
#include "support/tensor_parts.h"

namespace headscope::test {

/// Expects ranks to get the same bits as a single process from what `make` returns on each, for every number of ranks
/// in `sizes`: with more slices than a panel, more and fewer blocks of folders than ranks, and more ranks than heads;
/// without a mask and with all kinds of masks.
inline void expect_ranks_to_get_the_bits_of_one(const std::function<std::unique_ptr<TreeDistance>()>& make,
                                                std::span<const std::size_t> sizes) {
  for (const std::array<std::size_t, 3> shape : {std::array<std::size_t, 3>{70, 9, 100}, {3, 70, 40}}) {
    for (const MapKind kind : {MapKind::kPattern, MapKind::kScores}) {
      for (const auto mask : {MaskChoice::Kind::kNone, MaskChoice::Kind::kCausal, MaskChoice::Kind::kZeros}) {
        const NetworkTensor tensor = random_tensor(shape, kind, mask, 31);
        for (const TensorAxis axis : kTensorAxes) {
          const auto a = static_cast<std::size_t>(axis);
          const PartitionTree rows = random_tree(shape[a == 0 ? 1 : 0], 7);
          const PartitionTree columns = random_tree(shape[a == 2 ? 1 : 2], 8);
          const DoubleMatrix alone = make()->bind(tensor, axis)->compute(rows, columns, {}, {});
          for (const std::size_t size : sizes) {
            on_shares(tensor, size, [&](const TensorShare& share) {
              const DoubleMatrix shared = make()->bind(share, axis)->compute(rows, columns, {}, {});
              EXPECT_TRUE(std::ranges::equal(shared.values(), alone.values()))
                  << a << ", rank " << share.ranks().rank() << " of " << size;
            });
          }
        }
      }
    }
  }
}

}  // namespace headscope::test
