#pragma once

#include "headscope/model/head_map.h"
#include "headscope/model/head_sizes.h"
#include "model/find_family.h"

namespace headscope {

/// Finds the tensors of every layer's heads and checks their shapes and types.
///
/// \throws Error  kFormat if a tensor's shape contradicts the sizes,
///                kUnsupported if its type cannot be decoded.
[[nodiscard]] HeadMap map_heads(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes);

/// The same for all blocks of a model, in their order: of the layout, and of the two of its decoder if it has one.
[[nodiscard]] HeadMap map_blocks(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes);

}  // namespace headscope
