#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/haar.h"

namespace headscope {

/// The product of Haar bases on the axes of a tensor [head, query, key]. A null basis leaves its axis alone:
/// {null, q, k} is the bi-Haar basis of every head on its own, {h, q, k} the tri-Haar basis of the network.
struct TensorHaar {
  std::array<std::size_t, 3> extents = {};
  std::array<const HaarBasis*, 3> bases = {};

  [[nodiscard]] std::size_t size() const noexcept { return extents[0] * extents[1] * extents[2]; }
};

/// Values to coefficients or back, in place. Coefficient (i, j, k) belongs to coefficient i of the first basis, j of
/// the second and k of the third; an axis without a basis keeps its elements.
///
/// Orthonormal: the inverse gives the values back and both keep norms, to float rounding. Queries and keys of one head
/// are transformed while it is in cache, heads in a second pass: O(size) flops and two passes over memory.
void transform(std::span<float> values, const TensorHaar& haar, HaarDirection direction);

/// Sum of the magnitudes of all coefficients of a tensor, absent entries as `fill_values` has them. `work` is work
/// space; given again, it need not be made anew. `haar` is that of the whole tensor.
///
/// All ranks call it and get the same bits, those of one rank alone. Each transforms its own heads along queries and
/// keys; then all heads of some positions come to one rank, which transforms along heads: a rank's share of the time,
/// of the memory and of one exchange of the tensor.
[[nodiscard]] double coefficient_l1(const TensorShare& tensor, const TensorHaar& haar, Buffer<float>& work);

/// All coefficients in a basis on all three axes, given to rank 0 some megabytes at a time: `consume(first, values)`
/// there gets those from coefficient `first` on, each exactly once, in no order that matters. All ranks call it; none
/// ever has more of them than its share and what is under way.
void stream_coefficients(const TensorShare& tensor, const TensorHaar& haar,
                         const std::function<void(std::size_t, std::span<const float>)>& consume);

/// The share of the tensor that the folders of a coefficient take: the product of `HaarBasis::volumes` over the axes
/// that have a basis. O(1).
[[nodiscard]] double folder_volume(const TensorHaar& haar, std::size_t coefficient);

/// What is kept of a set of coefficients, and what that leaves out: error = ||x - x_kept|| / ||x||.
struct Kept {
  std::size_t count = 0;
  double error = 0;
};

/// Sets all but the k largest coefficients to zero; of equal ones those that come first are kept. O(size).
Kept keep_largest(std::span<float> coefficients, std::size_t k);
/// Sets those with a magnitude below `smallest` to zero.
Kept keep_above(std::span<float> coefficients, float smallest);
/// Sets those with a folder volume below `smallest` to zero: what is left is the tensor seen at that scale.
Kept keep_coarse(std::span<float> coefficients, const TensorHaar& haar, double smallest);

}  // namespace headscope
