#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/stored_tensor.h"
#include "headscope/model/role.h"

namespace headscope {

/// Location of one role's matrices in one layer: the tensor, the axis along which the heads lie, the offset of head 0
/// and the stride between heads. The other axis is the residual stream (in latent attention, for what reads a latent,
/// the latent).
struct HeadSlice {
  const StoredTensor* tensor = nullptr;       ///< nullptr if the file lacks it.
  const StoredTensor* block_scale = nullptr;  ///< FP8's `weight_scale_inv`, if any.
  std::size_t head_axis = 0;
  std::size_t first = 0;         ///< Index of head 0's first component along that axis.
  std::size_t stride = 0;        ///< Distance between the first components of consecutive heads ...
  std::size_t group = 0;         ///< ... of a group of this many heads; 0: all heads form one group.
  std::size_t group_stride = 0;  ///< Distance between the first components of consecutive groups.

  /// Index of a head's first component along the axis.
  [[nodiscard]] std::size_t first_of(std::size_t head) const noexcept {
    return group == 0 ? first + head * stride : first + head / group * group_stride + head % group * stride;
  }
};

/// The first factors of latent attention. Q, K and V are products of two matrices: the stream is mapped to a latent of
/// `rank` numbers, which is normalized, and the heads read the latent. With A the map to the latent (rank x d_model), g
/// the norm's gain and B_a the rows of a head in the second tensor (width x rank), the head's matrix is
/// A^T diag(g) B_a^T, d_model x width. The norm also divides by the latent's magnitude, which changes no subspace.
struct LatentFactor {
  HeadSlice down = {};                 ///< A; tensor nullptr if the role has one matrix.
  const StoredTensor* gain = nullptr;  ///< g
  std::size_t rank = 0;
};

struct LatentTensors {
  LatentFactor query = {};
  LatentFactor key_value = {};  ///< Of K and V.
  HeadSlice rotary_key = {};    ///< The rotary key that all heads share: the rows after those of the latent.

  [[nodiscard]] const LatentFactor& of(Role role) const noexcept { return role == Role::kQ ? query : key_value; }
};

/// The tensors that make up the heads of one layer.
struct LayerTensors {
  std::array<HeadSlice, 4> slices;  ///< Indexed by Role; in latent attention of the second factors.
  std::optional<LatentTensors> latent = {};
  bool normed = true;                       ///< Whether Q, K and V read a norm's output.
  const StoredTensor* norm_gain = nullptr;  ///< nullptr if there is no norm, or if norms have no gain.
  /// In cross-attention: the gain of the norm at the end of the encoder, whose output K and V read.
  const StoredTensor* memory_gain = nullptr;
  const StoredTensor* output_scale = nullptr;  ///< nullptr if the family has none.
  std::vector<std::string> missing;            ///< Names of the family's tensors that the file lacks.
  bool cross = false;                          ///< K and V read the output of the encoder.

  /// The gain of the norm whose output Q, K or V reads.
  [[nodiscard]] const StoredTensor* gain_for(Role role) const noexcept {
    return cross && is_key_value(role) ? memory_gain : norm_gain;
  }
};

/// Location of all heads of a model.
struct HeadMap {
  std::vector<LayerTensors> layers;
  float norm_offset = 0;               ///< Added to the stored gain.
  float output_scale_offset = 0;       ///< Added to the stored scale.
  bool output_scale_required = false;  ///< Loading O without its scale is an error.
  bool shared_layers = false;          ///< Several layers have the same tensors.
  bool gain_required = true;           ///< Folding without the gain of a norm is an error.
};

}  // namespace headscope
