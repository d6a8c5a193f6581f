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

/// A product of Haar bases on the axes of a tensor [head, query, key]. An axis with a null basis is not transformed:
/// {null, q, k} is the bi-Haar basis of each head separately, {h, q, k} the tri-Haar basis of the network.
struct TensorHaar {
  std::array<std::size_t, 3> extents = {};
  std::array<const HaarBasis*, 3> bases = {};

  [[nodiscard]] std::size_t size() const noexcept { return extents[0] * extents[1] * extents[2]; }
};

/// Transforms values to coefficients or back, in place. Coefficient (i, j, k) belongs to coefficient i of the first
/// basis, j of the second and k of the third; an axis without a basis keeps its elements.
///
/// Orthonormal: the inverse restores the values and both directions preserve norms, up to float rounding. Queries and
/// keys of one head are transformed while it is in cache, heads in a second pass: O(size) flops and two passes over
/// memory.
void transform(std::span<float> values, const TensorHaar& haar, HaarDirection direction);

/// Returns the sum of magnitudes of all coefficients of a tensor, with absent entries filled as by `fill_values`.
/// `work` is scratch space that can be reused between calls. `haar` describes the whole tensor.
///
/// Collective: every rank gets the same bits as a single-rank run. Each rank transforms its own heads along queries and
/// keys; an all-to-all exchange then brings all heads of a range of positions to one rank, which transforms along
/// heads. Each rank uses its share of the time, of the memory and of one exchange of the tensor.
[[nodiscard]] double coefficient_l1(const TensorShare& tensor, const TensorHaar& haar, Buffer<float>& work);

/// Streams all coefficients, in a basis on all three axes, to rank 0, a few megabytes at a time. There, `consume(first,
/// values)` gets the coefficients starting at index `first`; each is passed exactly once, in unspecified order.
/// Collective; no rank holds more than its share plus what is in flight.
void stream_coefficients(const TensorShare& tensor, const TensorHaar& haar,
                         const std::function<void(std::size_t, std::span<const float>)>& consume);

/// Returns the fraction of the tensor covered by the folders of a coefficient: the product of `HaarBasis::volumes` over
/// the axes that have a basis. O(1).
[[nodiscard]] double folder_volume(const TensorHaar& haar, std::size_t coefficient);

/// How many coefficients were kept, and the relative error of the rest: error = ||x - x_kept|| / ||x||.
struct Kept {
  std::size_t count = 0;
  double error = 0;
};

/// Sets all but the k largest coefficients to zero; on ties, earlier ones are kept. O(size).
Kept keep_largest(std::span<float> coefficients, std::size_t k);
/// Sets coefficients with a magnitude below `smallest` to zero.
Kept keep_above(std::span<float> coefficients, float smallest);
/// Sets coefficients with a folder volume below `smallest` to zero: the tensor at that scale remains.
Kept keep_coarse(std::span<float> coefficients, const TensorHaar& haar, double smallest);

}  // namespace headscope
