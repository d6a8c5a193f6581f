#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"

namespace headscope {

/// Computes the Euclidean distances between point i and the out.size() points starting at `begin`. Point j is column j,
/// coordinate k is row k.
void point_distances(const DoubleMatrix& points, std::size_t i, std::size_t begin, std::span<double> out);

}  // namespace headscope
