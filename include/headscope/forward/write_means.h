#pragma once

#include <vector>

#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// Returns, for each component of the outputs of a layer's heads, the mean of what O writes for it over the components
/// of the stream: what a LayerNorm after attention subtracts, apart from its gain.
/// \throws Error  kFormat as `read_vector`.
[[nodiscard]] std::vector<float> write_means(const Model& model, const NetworkLayer& layer);

}  // namespace headscope
