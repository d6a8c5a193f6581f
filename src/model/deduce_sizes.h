#pragma once

#include <string>
#include <vector>

#include "headscope/model/head_sizes.h"
#include "model/find_family.h"

namespace headscope {

/// The sizes of a model: what the configuration says, else what the tensors
/// answer, else the default of the family's configuration class. What the
/// configuration did not say is added to `notes` with its source.
///
/// \throws Error  kFormat if the configuration is contradictory, or neither it
///                nor the tensors answer.
[[nodiscard]] HeadSizes deduce_sizes(const Checkpoint& checkpoint, const FamilyMatch& match,
                                     std::vector<std::string>& notes);

}  // namespace headscope
