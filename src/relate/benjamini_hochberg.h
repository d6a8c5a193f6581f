#pragma once

#include <vector>

namespace headscope {

/// Returns the logarithms of the q-values of Benjamini and Hochberg 1995: q of the r-th smallest of m p-values is the
/// smallest p_s m / s over s >= r. Logarithms keep the order of p-values that a double cannot represent. Equal p-values
/// have equal q. Cost: O(m log m), and 4 bytes per value besides the values.
[[nodiscard]] std::vector<float> log10_q_values(std::vector<float> log10_p);

/// The same with the factor 1 + 1/2 + ... + 1/m of Benjamini and Yekutieli 2001, with which the false discovery rate
/// holds for tests that depend on each other in any way, as pairs that share a head do.
[[nodiscard]] std::vector<float> log10_q_values_if_dependent(std::vector<float> log10_p);

}  // namespace headscope
