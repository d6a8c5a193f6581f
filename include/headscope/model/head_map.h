#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "headscope/io/stored_tensor.h"

namespace headscope {

/// Where one role's matrices of one layer lie: in which tensor, along which of
/// its two axes, from where on and how far apart the heads stand. The other axis
/// is the residual stream.
struct HeadSlice {
  const StoredTensor* tensor = nullptr;       ///< nullptr if the file lacks it.
  const StoredTensor* block_scale = nullptr;  ///< FP8's `weight_scale_inv`, if there is one.
  std::size_t head_axis = 0;
  std::size_t first = 0;   ///< Index of head 0's first component along that axis.
  std::size_t stride = 0;  ///< From one head's first component to the next one's.
};

/// The tensors that make up the heads of one layer.
struct LayerTensors {
  std::array<HeadSlice, 4> slices;             ///< By Role.
  const StoredTensor* norm_gain = nullptr;     ///< nullptr for post-norm models.
  const StoredTensor* output_scale = nullptr;  ///< nullptr where the family has none.
  std::vector<std::string> missing;            ///< Names of tensors the family has and the file lacks.
};

/// Where all heads of a model lie.
struct HeadMap {
  std::vector<LayerTensors> layers;
  float norm_offset = 0;               ///< Added to the stored gain.
  float output_scale_offset = 0;       ///< Added to the stored scale.
  bool output_scale_required = false;  ///< What O writes is not known without its scale.
};

}  // namespace headscope
