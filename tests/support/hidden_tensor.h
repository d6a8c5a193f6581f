#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "headscope/organize/network_tensor.h"
#include "support/affinities.h"

namespace headscope::test {

/// A tensor that is smooth on binary trees of its axes, with shuffled elements: a sum over levels of
/// `decay`^level * u(folder of the head) v(folder of the query) w(folder of the key). One of two sibling folders has a
/// positive factor and the other a negative one, with random magnitudes from 0.5 to 1.5.
struct HiddenTensor {
  std::array<std::size_t, 3> extents;
  std::array<std::vector<std::size_t>, 3> permutations;  // new position of each element of the smooth tensor
  std::vector<float> values;

  HiddenTensor(std::array<std::size_t, 3> shape, std::size_t levels, double decay, double noise, std::uint64_t seed)
      : extents(shape), values(shape[0] * shape[1] * shape[2], 0.0F) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (std::size_t axis = 0; axis < 3; ++axis) permutations[axis] = random_permutation(shape[axis], seed + axis);
    double scale = 1;
    for (std::size_t level = 1; level <= levels; ++level, scale *= decay) {
      std::array<std::vector<double>, 3> factors;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<double> folders(std::size_t{1} << level);
        for (std::size_t f = 0; f < folders.size(); ++f) {
          folders[f] = (f % 2 == 0 ? 1 : -1) * (0.5 + uniform(random));
        }
        for (std::size_t i = 0; i < shape[axis]; ++i) factors[axis].push_back(folders[folder(i, shape[axis], level)]);
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t h = i / (shape[1] * shape[2]);
        const std::size_t q = i / shape[2] % shape[1];
        const std::size_t k = i % shape[2];
        values[at(h, q, k)] += static_cast<float>(scale * factors[0][h] * factors[1][q] * factors[2][k]);
      }
    }
    for (float& value : values) value += static_cast<float>(noise * normal(random));
  }

  /// The folder on a level (root 0) that contains an element of the smooth tensor.
  [[nodiscard]] static std::size_t folder(std::size_t i, std::size_t n, std::size_t level) {
    return i * (std::size_t{1} << level) / n;
  }
  [[nodiscard]] std::size_t at(std::size_t h, std::size_t q, std::size_t k) const {
    return (permutations[0][h] * extents[1] + permutations[1][q]) * extents[2] + permutations[2][k];
  }
  /// The folders of a hidden level of an axis, as class labels of the shuffled elements.
  [[nodiscard]] std::vector<std::size_t> hidden_classes(std::size_t axis, std::size_t level) const {
    std::vector<std::size_t> classes(extents[axis]);
    for (std::size_t i = 0; i < extents[axis]; ++i) classes[permutations[axis][i]] = folder(i, extents[axis], level);
    return classes;
  }
  [[nodiscard]] NetworkTensor tensor(const NetworkTensorOptions& options = {}) const {
    return make_network_tensor(values, extents, options, "hidden");
  }
};

}  // namespace headscope::test
