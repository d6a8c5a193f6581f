#include "headscope/organize/tensor_haar.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

// Queries and keys of every head, after `prepare` has made its map.
template <typename Prepare>
void transform_maps(std::span<float> values, const TensorHaar& haar, HaarDirection direction, const Prepare& prepare) {
  const std::size_t heads = haar.extents[0];
  const std::size_t queries = haar.extents[1];
  const std::size_t keys = haar.extents[2];
  const std::size_t map = queries * keys;
  const auto transform_map = [&](std::size_t head) {
    const auto entries = values.subspan(head * map, map);
    prepare(head, entries);
    if (haar.bases[2] != nullptr) haar_transform(entries, queries, *haar.bases[2], 1, direction);
    if (haar.bases[1] != nullptr) haar_transform(entries, 1, *haar.bases[1], keys, direction);
  };
  // A head a thread where there are heads enough, else threads within a head; the numbers are the same.
  if (heads >= thread_count()) return parallel_for(heads, transform_map);
  for (std::size_t head = 0; head < heads; ++head) transform_map(head);
}

double energy(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// Zeros what `keeps` refuses.
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
  transform_maps(values, haar, direction, [](std::size_t, std::span<float>) {});
  if (haar.bases[0] == nullptr) return;
  haar_transform(values, 1, *haar.bases[0], haar.extents[1] * haar.extents[2], direction);
}

double coefficient_l1(const NetworkTensor& tensor, const TensorHaar& haar, Buffer<float>& work) {
  assert(tensor.extents == haar.extents);
  if (work.size() != haar.size()) work = Buffer<float>(haar.size());
  const std::span<float> values = work.values();
  transform_maps(values, haar, HaarDirection::kForward,
                 [&](std::size_t head, std::span<float> entries) { fill_map(tensor, head, entries); });
  if (haar.bases[0] != nullptr) return haar_l1(values, 1, *haar.bases[0], haar.extents[1] * haar.extents[2]);
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  return sum;
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
