#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"

namespace headscope {

/// The Euclidean distances between point i and the points from `begin` on, as many as `out` holds. Point j is column j,
/// coordinate k row k.
void point_distances(const DoubleMatrix& points, std::size_t i, std::size_t begin, std::span<double> out);

}  // namespace headscope
