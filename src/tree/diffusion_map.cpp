#include "headscope/tree/diffusion_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "tree/diffusion.h"

namespace headscope {
namespace {

// Returns -1 if the entry of largest magnitude is negative; of entries that are equal up to rounding, the first one
// counts.
double sign_of_largest(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const auto found =
      std::find_if(values.begin(), values.end(), [&](double x) { return std::abs(x) >= largest * (1 - 1e-9); });
  return found != values.end() && *found < 0 ? -1 : 1;
}

}  // namespace

DiffusionMap diffusion_map(const DoubleMatrix& affinity, const DiffusionMapOptions& options) {
  if (options.dimensions == 0 || !std::isfinite(options.time) || options.time < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("diffusion_map: {} dimensions at time {}, expected at least 1 and a non-negative time",
                            options.dimensions, options.time));
  }
  check_affinity(affinity, "diffusion_map");
  const std::size_t n = affinity.rows();
  const DiffusionModes modes = diffusion_modes(affinity, n);
  DiffusionMap map;
  map.spectrum = modes.values;
  map.coordinates = DoubleMatrix(n, std::min(options.dimensions, modes.values.size()));
  for (std::size_t k = 0; k < map.coordinates.columns(); ++k) {
    const double lambda = modes.values[k];
    const double scale = sign_of_largest(modes.vectors.row(k)) * std::pow(std::abs(lambda), options.time);
    for (std::size_t i = 0; i < n; ++i) map.coordinates(i, k) = scale * modes.vectors(k, i);
  }
  return map;
}

}  // namespace headscope
