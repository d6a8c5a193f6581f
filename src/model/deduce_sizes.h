#pragma once

#include <string>
#include <vector>

#include "headscope/model/head_sizes.h"
#include "model/find_family.h"

namespace headscope {

/// Determines the sizes of a model: from the configuration, else from the tensors, else from the default of the
/// family's configuration class. Sizes that the configuration does not state are added to `notes` with their source.
///
/// \throws Error  kFormat if the configuration contradicts itself, or if neither it nor the tensors give a size.
[[nodiscard]] HeadSizes deduce_sizes(const Checkpoint& checkpoint, const FamilyMatch& match,
                                     std::vector<std::string>& notes);

}  // namespace headscope
